"""Operations on the page: looking first, the flow's name typed once more, and steps that can be watched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from heliograph.recovery.flow_gate import FlowGate
from tests.chaos.stage import await_growth
from tests.control.rest.serving import TOKENS, Served, serving, token_of
from tests.web import accessibility
from tests.web.browser import Visit, visiting
from tests.web.live_site import PARTITIONS, LiveSite

_STEP = {"step": "check", "title": "Check the target", "would": "b answers", "problems": [], "hooks": []}
_FREE = {"operation": "switchover", "flow": "a->b", "can_begin": True, "problems": [], "steps": [_STEP], "details": {}}
_BLOCKED = {
    **_FREE,
    "can_begin": False,
    "problems": ["nobody mirrors b->a", "check: orders-0 is set aside"],
    "steps": [{**_STEP, "problems": ["orders-0 is set aside"]}],
}
_GROUP = {
    "group": "billing", "source_topic": "orders", "partition": 3, "source_offset": 7, "target_topic": "a.orders",
    "target_offset": 9, "exact": False, "waiting": 12, "outcome": "set", "reason": "",
}  # fmt: skip
_MISSING = {
    "topic": "orders", "partition": 3, "target_topic": "a.orders", "mirrored_to": 90, "known_end": 101,
    "seen_at_ms": 1, "missing": 10,
}  # fmt: skip
_DONE = {
    "id": "failback-1", "operation": "failback", "flow": "a->b", "is_undo": False, "state": "running", "error": "",
    "began_at_ms": 1, "seconds": 3.2, "by": "admins", "is_here": True,
    "steps": [
        {"step": "check", "title": "Check", "state": "done", "text": "well", "seconds": 1.5, "hooks": ["after: hook"]},
        {"step": "close", "title": "Close", "state": "running", "text": "closing", "seconds": 0.2, "hooks": []},
        {"step": "tail", "title": "Save", "state": "waiting", "text": "", "seconds": 0, "hooks": []},
    ],
    "details": {
        "groups": [_GROUP],
        "partitions": [_MISSING, {**_MISSING, "partition": 4, "missing": 0}],
        "missing_records": 10, "source_answers": False, "source_seen_at_ms": 1,
        "tail": {
            "records": 5, "saved_to": "topic lost", "partitions": [{"topic": "orders", "partition": 3, "records": 5}],
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose clusters cannot be reached; what it would answer, tests say themselves."""
    with serving(tmp_path_factory.mktemp("operations"), TOKENS) as served:
        yield served


@pytest.fixture
def visit(served: Served, browser: Browser) -> Iterator[Visit]:
    """An admin."""
    with visiting(browser, served.address, token_of("admin")) as visit:
        yield visit


def _answer(page: Page, method: str, pattern: str, body: dict[str, Any], status: int = 200) -> list[dict[str, Any]]:
    """Let the page see an answer to requests of one method; returns the bodies that it sends."""
    sent: list[dict[str, Any]] = []

    def fulfil(route: Route) -> None:
        if route.request.method != method:
            route.fallback()
            return
        sent.append(route.request.post_data_json)
        route.fulfill(status=status, content_type="application/json", body=json.dumps(body))

    page.route(pattern, fulfil)
    return sent


def _choose(page: Page, kind: str) -> None:
    page.get_by_label("Operation", exact=True).select_option(kind)


def _begin_button(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile("^Begin: "))


# -- beginning ----------------------------------------------------------------------------------------------------


def test_nothing_begins_before_a_look_and_the_name_of_the_flow(visit: Visit) -> None:
    sent = _answer(visit.page, "POST", "**/api/v1/operations", _FREE)
    visit.open("#/operations")
    begin, note = _begin_button(visit.page), visit.page.locator("#operation-note")
    typed = visit.page.get_by_label("Type a->b to confirm")
    expect(note).to_contain_text("Look first")
    expect(begin).to_be_disabled()
    typed.fill("a->b")
    expect(begin).to_be_disabled()
    visit.page.get_by_role("button", name="Look first").click()
    expect(visit.page.get_by_text("Nothing stands in the way.")).to_be_visible()
    expect(visit.page.get_by_role("list", name="Steps that would be done")).to_contain_text("b answers")
    expect(typed).to_have_value("")
    expect(note).to_have_text("Type a->b to confirm.")
    for wrong in ("a", "a->", "A->B", "a->b "):
        typed.fill(wrong)
        expect(begin).to_be_disabled()
    typed.fill("a->b")
    expect(begin).to_be_enabled()
    expect(note).to_have_text("")
    visit.page.get_by_label("Patience, seconds").fill("30")  # what was seen was for another patience
    expect(begin).to_be_disabled()
    expect(visit.page.get_by_text("Nothing stands in the way.")).to_be_hidden()
    assert [body["dry_run"] for body in sent] == [True]
    assert sent[0]["options"] == {
        "fence": None, "quiet_seconds": 10, "patience_seconds": 600, "leave_consumers": False, "verify_seconds": 600,
    }  # fmt: skip


def test_problems_must_be_overridden_in_so_many_words(visit: Visit) -> None:
    _answer(visit.page, "POST", "**/api/v1/operations", _BLOCKED)
    visit.open("#/operations")
    visit.page.get_by_role("button", name="Look first").click()
    expect(visit.page.locator(".verdict")).to_have_text("2 problems: it would stop.")
    expect(visit.page.locator(".callout.tone-bad")).to_have_text("nobody mirrors b->a")
    expect(visit.page.locator(".step-problem")).to_have_text("orders-0 is set aside")
    begin = _begin_button(visit.page)
    visit.page.get_by_label("Type a->b to confirm").fill("a->b")
    expect(begin).to_be_disabled()
    visit.page.get_by_label("Begin in spite of problems").check()
    expect(begin).to_be_enabled()


def test_what_is_begun_is_shown_and_what_cannot_be_says_why(visit: Visit) -> None:
    visit.watch.excuse("status of 409", "status of 404")
    message = {"error_code": 409, "message": "failover of a->b is under way"}
    sent = _answer(visit.page, "POST", "**/api/v1/operations", message, 409)
    visit.open("#/operations")
    _choose(visit.page, "undo-switchover")  # of which there is no dry run
    expect(visit.page.get_by_role("button", name="Look first")).to_be_hidden()
    visit.page.get_by_label("Type a->b to confirm").fill("a->b")
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#operation-note")).to_have_text("That did not work: failover of a->b is under way")
    assert sent == [{"operation": "switchover", "flow": "a->b", "undo": True, "options": {}, "confirm": "a->b"}]
    _answer(visit.page, "POST", "**/api/v1/operations", _DONE, 202)
    _answer(visit.page, "GET", "**/api/v1/operations/failback-1?*", _DONE)
    _begin_button(visit.page).click()
    expect(visit.page.get_by_role("heading", name="Failback a->b")).to_be_visible()


def test_a_verification_needs_no_confirmation(served: Served, browser: Browser) -> None:
    with visiting(browser, served.address, token_of("operator")) as visit:
        sent = _answer(visit.page, "POST", "**/api/v1/operations", _DONE, 202)
        _answer(visit.page, "GET", "**/api/v1/operations/failback-1?*", _DONE)
        visit.open("#/operations")
        expect(visit.page.locator("#operation-note")).to_contain_text("To begin this takes an admin.")
        expect(_begin_button(visit.page)).to_be_disabled()
        expect(visit.page.get_by_role("button", name="Look first")).to_be_enabled()
        _choose(visit.page, "verify")
        expect(visit.page.get_by_label("Type a->b to confirm")).to_be_hidden()
        visit.page.get_by_label("Compare, seconds").fill("")
        _begin_button(visit.page).click()
        expect(visit.page.get_by_role("heading", name="Failback a->b")).to_be_visible()
        assert [(body["operation"], body["options"]) for body in sent] == [("verify", {"verify_seconds": None})]


def test_a_viewer_sees_and_cannot_start(served: Served, browser: Browser) -> None:
    with visiting(browser, served.address, token_of("viewer")) as visit:
        visit.open("#/operations")
        expect(visit.page.locator("#operation-note")).to_have_text(
            "You may look. Dry runs and verifications take an operator, all else an admin."
        )
        controls = visit.page.locator(".operation-form").locator("input:visible, select:visible, button:visible")
        assert controls.count() == 10
        assert visit.page.locator(".operation-form :enabled:is(input, select, button):visible").count() == 0
        expect(visit.page.get_by_role("link", name="Operations")).to_have_attribute("aria-current", "page")


# -- watching -----------------------------------------------------------------------------------------------------


def test_steps_and_findings_are_shown(visit: Visit) -> None:
    _answer(visit.page, "GET", "**/api/v1/operations/failback-1?*", _DONE)
    visit.open("#/operation/failback-1/a-%3Eb")
    live = visit.page.locator("[aria-live].progress")
    expect(live).to_have_text("Step 2 of 3: Close …")
    steps = visit.page.get_by_role("list", name="Steps").locator("li")
    expect(steps).to_have_count(3)
    assert steps.locator(".chip").all_inner_texts() == ["done", "running", "waiting"]
    assert steps.locator(".chip svg.icon").count() == 3
    expect(steps.nth(0)).to_contain_text("1.5 s")
    expect(steps.nth(0)).to_contain_text("after: hook")
    for label, texts in {
        "groups": ["billing", "orders-3", "7", "a.orders", "9", "no: up to 12 records again", "12", "set"],
        "missing records": ["orders-3", "a.orders", "90", "101", "10"],
        "unmirrored tail": ["orders-3", "5"],
    }.items():
        row = visit.page.get_by_role("table", name=label, exact=True).locator("tbody tr")
        expect(row).to_have_count(1)
        assert row.locator("th, td").all_inner_texts()[: len(texts)] == texts
    expect(visit.page.get_by_text("5 records that only the source has, saved to topic lost.")).to_be_visible()
    accessibility.expect_names(visit.page)
    accessibility.expect_order(visit.page)
    visit.shoot("operation-light")


def test_a_failure_says_why_and_one_that_runs_can_be_stopped(visit: Visit) -> None:
    stopped = _answer(visit.page, "POST", "**/api/v1/operations/failback-1/stop?*", _DONE, 202)
    _answer(visit.page, "GET", "**/api/v1/operations/failback-1?*", _DONE)
    visit.open("#/operation/failback-1/a-%3Eb")
    visit.page.get_by_role("button", name="Stop", exact=True).click()
    visit.page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(visit.page.locator(".notice")).to_contain_text("is told to stop")
    assert stopped == [{}]
    failed = {**_DONE, "state": "failed", "error": "failback of a->b stopped at step close: interrupted"}
    _answer(visit.page, "GET", "**/api/v1/operations/failback-1?*", failed)
    expect(visit.page.locator(".callout.tone-bad")).to_have_text(str(failed["error"]))
    expect(visit.page.locator("[aria-live].progress")).to_have_text("It has stopped before its end.")
    expect(visit.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_operations_can_be_read_in_light_dark_and_on_a_telephone(
    served: Served, browser: Browser, scheme: str, width: int
) -> None:
    with visiting(browser, served.address, token_of("admin"), scheme, width) as visit:
        details = _DONE["details"]
        _answer(visit.page, "POST", "**/api/v1/operations", {**_BLOCKED, "details": details})
        _answer(visit.page, "GET", "**/api/v1/operations", {"operations": [_DONE], "unread": ["a->b: gone"]})
        _answer(visit.page, "GET", "**/api/v1/operations/failback-1?*", {**_DONE, "error": "why"})
        for name, link in (("operations", "#/operations"), ("operation", "#/operation/failback-1/a-%3Eb")):
            visit.open(link)
            if name == "operations":
                _choose(visit.page, "failback")
                visit.page.get_by_role("button", name="Look first").click()
                visit.page.locator(".verdict").wait_for()
                visit.page.get_by_role("link", name="failback-1").wait_for()
            else:
                visit.page.locator(".progress", has_text="Step 2 of 3").wait_for()
            accessibility.expect_names(visit.page)
            accessibility.expect_contrast(visit.page)
            accessibility.expect_order(visit.page)
            accessibility.expect_fits(visit.page)
            visit.shoot(f"{name}-{scheme}-{width}")


def test_all_of_it_can_be_done_with_keys(visit: Visit) -> None:
    _answer(visit.page, "POST", "**/api/v1/operations", _FREE)
    visit.open("#/operations")
    visit.page.get_by_label("Flow", exact=True).focus()
    visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_label("Operation", exact=True)).to_be_focused()
    visit.page.keyboard.press("ArrowDown")
    expect(visit.page.get_by_label("Operation", exact=True)).to_have_value("failover")
    visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_role("button", name="Look first")).to_be_focused()
    visit.page.keyboard.press("Enter")
    visit.page.get_by_text("Nothing stands in the way.").wait_for()
    for _ in range(3):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate("document.activeElement.id") == "operation-typed":
            break
    visit.page.keyboard.type("a->b")
    visit.page.keyboard.press("Tab")
    expect(_begin_button(visit.page)).to_be_focused()


# -- for real -----------------------------------------------------------------------------------------------------


@pytest.mark.kafka
@pytest.mark.spark
def test_a_failover_is_watched_to_its_end(site: LiveSite, browser: Browser) -> None:
    gate = FlowGate(site.mirror.flow(site.flow).config)
    with visiting(browser, site.root, token_of("admin")) as visit:
        page = visit.page
        visit.open("#/")
        page.get_by_role("link", name="Operations").click()
        page.get_by_label("Flow", exact=True).select_option(site.flow)
        _choose(page, "failover")
        page.get_by_role("button", name="Look first").click()
        expect(page.locator(".verdict")).to_have_text("Nothing stands in the way.")
        expect(page.get_by_role("list", name="Steps that would be done").locator("li")).to_have_count(4)
        assert not gate.is_closed
        expect(_begin_button(page)).to_be_disabled()
        page.get_by_label(f"Type {site.flow} to confirm").fill(site.flow)
        try:
            _begin_button(page).click()
            expect(page.get_by_role("heading", name=f"Failover {site.flow}")).to_be_visible()
            expect(page.locator(".progress")).to_have_text("All steps are done.", timeout=60_000)
            assert gate.is_closed
            steps = page.get_by_role("list", name="Steps").locator("li")
            assert steps.locator(".chip").all_inner_texts() == ["done"] * 4
            rows = page.get_by_role("table", name="groups", exact=True).locator("tbody tr")
            expect(rows.filter(has_text=site.group)).to_have_count(PARTITIONS)
            visit.shoot("failover-light")
            identity = page.url.split("/")[-2]
            page.get_by_role("link", name="All operations").click()
            row = page.get_by_role("table", name="operations").locator("tbody tr").filter(has_text=identity)
            expect(row.locator(".chip")).to_have_text("done")
            row.get_by_role("link", name=identity).click()
            expect(page.locator(".progress")).to_have_text("All steps are done.")
        finally:
            gate.open()
    await_growth(site.target, site.copy)
