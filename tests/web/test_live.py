"""The page shows what the API says, of a real mirror under load, and does what operators ask of it."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from heliograph.control.connector import Connector, RunState
from tests.chaos.stage import await_growth, ends
from tests.control.rest.serving import token_of
from tests.waiting import wait_until
from tests.web import accessibility
from tests.web.browser import PATIENCE_MS, Visit, answer_with, visiting
from tests.web.live_site import PARTITIONS, LiveSite, another_server

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_PAGES = ("", "topics", "groups", "plan", "config")
_RENDER_MS = 75  # of work, for what a reader does with a table of a thousand rows


def _rows(page: Page, label: str) -> list[dict[str, str]]:
    """What a table shows, by the names of its columns."""
    table = page.get_by_role("table", name=label, exact=True)
    table.locator("tbody tr").first.wait_for()
    return list(
        table.evaluate(
            """(table) => {
              const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
              const row = ({ cells }) => names.map((name, index) => [name, cells[index].textContent.trim()]);
              return [...table.tBodies[0].rows].map((each) => Object.fromEntries(row(each)));
            }"""
        )
    )


def _number(text: str) -> int:
    return int(text.replace("\u202f", ""))


def _settle(visit: Visit) -> None:
    """Wait until the first answers are shown."""
    expect(visit.page.locator(".live")).to_have_text("Live")
    expect(visit.page.locator(".loading:visible")).to_have_count(0)
    visit.page.wait_for_load_state("networkidle")


# -- what it shows ------------------------------------------------------------------------------------------------


def test_the_overview_shows_all_clusters_and_flows(visit: Visit, site: LiveSite) -> None:
    visit.open()
    topology = site.get("topology")
    for cluster in topology["clusters"]:
        expect(visit.page.locator(".cluster .alias", has_text=cluster["alias"])).to_have_count(1)
    assert {flow["name"] for flow in topology["flows"]} == {site.flow, site.back}
    for flow in topology["flows"]:
        arrow = visit.page.locator(f".picture a[data-flow='{flow['name']}']")
        card = visit.page.locator(f".flow-card[data-flow='{flow['name']}']")
        expect(arrow).to_have_attribute("aria-label", re.compile(f"^{flow['source']} to {flow['target']}: "))
        expect(card.locator(".chip")).to_have_text(re.compile("up to date|copying"))
        expect(card.locator(".chip svg.icon")).to_have_count(1)
        expect(arrow.locator("svg.icon")).to_have_count(1)
        expect(arrow).to_contain_text(re.compile(r"/s · lag "))
    expect(visit.page.locator(".summary")).to_have_text("Both flows are well.")
    expect(visit.page).to_have_title("Overview · Heliograph")
    visit.page.locator(f".picture a[data-flow='{site.flow}']").focus()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("h1")).to_have_attribute("aria-label", re.compile("^Flow from north"))


def test_the_page_of_a_flow_shows_its_numbers(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link())
    _settle(visit)
    cards = visit.page.locator(".number-card")
    names = [
        "Lag", "Behind", "RPO", "Records", "Volume", "Latency, average", "Latency, highest", "Partitions", "Lanes",
        "Last commit",
    ]  # fmt: skip
    assert cards.locator("dt").all_inner_texts() == names
    shown = dict(zip(names, cards.locator(".value").all_inner_texts(), strict=True))
    flow = site.of_flow()
    assert _number(shown["Partitions"]) == flow["partitions"] == 2 * PARTITIONS
    assert _number(shown["Lanes"]) == flow["lanes"]
    assert re.fullmatch(r"[\d.]+/s", shown["Records"])
    assert float(shown["Records"].removesuffix("/s")) == pytest.approx(flow["records_per_second"], rel=0.3)
    assert re.fullmatch(r"≤ \d+ s", shown["RPO"])
    assert re.fullmatch(r"\d+ ms|[\d.]+ s", shown["Latency, average"])
    expect(visit.page.locator(".health .chip")).to_have_text(re.compile("up to date|copying"))


def test_partitions_lanes_tasks_and_events_agree_with_the_api(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link())
    shown = {row["Partition"]: row for row in _rows(visit.page, "partitions")}
    known = {f"{row['topic']}-{row['partition']}": row for row in site.of_flow("partitions")}
    assert set(shown) == set(known)
    for name, row in shown.items():
        assert row["Target topic"] == known[name]["target_topic"]
        assert row["State"] == "mirrored"
        assert _number(row["Lane"]) == known[name]["lane"]
        assert _number(row["Source end"]) <= known[name]["end"]
        if not name.startswith(site.topic):  # which grows while we look
            assert _number(row["Source end"]) == known[name]["end"]
    detail = site.of_flow()
    lanes = {row["Lane"]: _number(row["Partitions"]) for row in _rows(visit.page, "lanes")}
    assert lanes == {f"lane {lane['number']}": len(lane["partitions"]) for lane in detail["lane_states"]}
    tasks = _rows(visit.page, "periodic tasks")
    assert [row["Task"] for row in tasks] == [chore["name"] for chore in detail["chores"]]
    assert {row["State"] for row in tasks} <= {"works", "waits"}
    expect(visit.page.get_by_text("Nothing has happened within the last day beside copying.")).to_be_visible()


def test_topics_agree_with_the_api(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link("topics"))
    shown = {row["Topic"]: row for row in _rows(visit.page, "topics")}
    known = {row["topic"]: row for row in site.of_flow("topics")}
    assert {site.topic, site.idle_topic} == set(shown) == set(known)
    for name, row in shown.items():
        assert row["Target topic"] == known[name]["target_topic"]
        assert (_number(row["Partitions"]), row["Set aside"]) == (known[name]["partitions"], "0")
    assert shown[site.idle_topic]["Records"] == "0"
    assert shown[site.topic]["Records/s"] != "0/s"


def test_groups_agree_with_the_api(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link("groups"))
    (group,) = _rows(visit.page, "groups")
    assert group["Group"] == site.group
    assert group["Exact"] == group["Committed on target"] == f"{PARTITIONS} of {PARTITIONS}"
    rows = _rows(visit.page, "offsets of groups")
    (known,) = site.of_flow("groups")["groups"]
    assert len(rows) == len(known["partitions"]) == PARTITIONS
    for row, place in zip(sorted(rows, key=lambda row: row["Partition"]), known["partitions"], strict=True):
        assert row["Partition"] == f"{place['topic']}-{place['partition']}"
        assert (_number(row["Source offset"]), row["Translation"]) == (site.group_offset, "exact")
        assert _number(row["Translated"]) == place["translated_offset"] >= site.group_offset  # markers shift it
        assert _number(row["Target offset"]) == place["target_offset"]
    visit.page.get_by_role("button", name=site.group).click()
    expect(visit.page.get_by_role("searchbox", name="Filter offsets of groups")).to_have_value(site.group)
    visit.page.get_by_role("button", name="Look again").click()
    expect(visit.page.get_by_text(re.compile("Read from the clusters"))).to_be_visible()


def test_the_plan_says_what_is_left_out_and_why(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link("plan"))
    known = site.of_flow("plan")
    shown = {row["Topic"]: (row["On the target"], row["State"]) for row in _rows(visit.page, "mirrored topics")}
    assert shown == {row["topic"]: (row["target_topic"], row["state"]) for row in known["topics"]}
    visit.page.get_by_role("searchbox", name="Filter topics left out").fill(site.left_out)
    expect(visit.page.get_by_role("table", name="topics left out").locator("tbody tr")).to_have_count(1)
    (row,) = _rows(visit.page, "topics left out")
    assert row == next(
        {"Topic": each["topic"], "Reason": each["reason"]}
        for each in known["left_out"]
        if each["topic"] == site.left_out
    )


def test_settings_show_value_origin_and_meaning_and_mark_what_was_changed(visit: Visit, site: LiveSite) -> None:
    flow = site.mirror.flow(site.flow)
    site.mirror.change_settings(flow, {"refresh.groups.interval.seconds": "123"}, "a test")
    try:
        visit.open(site.link("config"))
        visit.page.get_by_role("searchbox", name="Filter settings").fill("refresh.groups.interval.seconds")
        row = _rows(visit.page, "settings")[0]
        assert (row["Value"], row["Origin"]) == ("123", "changed over REST")
        known = _setting(site, "refresh.groups.interval.seconds")
        assert row["Setting"] == f"{known['name']}{known['doc']}"
        assert len(known["doc"]) > 10
        visit.page.get_by_role("searchbox", name="Filter settings").fill("emit.checkpoints.interval.seconds")
        row = _rows(visit.page, "settings")[0]
        assert (row["Value"], row["Origin"]) == (
            "2",
            f"file, line {_setting(site, 'emit.checkpoints.interval.seconds')['line']}",
        )
        visit.page.get_by_role("searchbox", name="Filter settings").fill("")
        everything = visit.page.locator(".count").inner_text()
        visit.page.get_by_label("Only what is not at its default").check()
        expect(visit.page.locator(".count")).not_to_have_text(everything)
        origins = {row["Origin"] for row in _rows(visit.page, "settings")}
        assert "default" not in origins
    finally:
        site.mirror.change_settings(flow, {}, "a test")


def _setting(site: LiveSite, name: str) -> dict[str, Any]:
    return next(row for row in site.of_flow("config") if row["name"] == name)


def test_a_partition_shows_where_its_records_went(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link())
    visit.page.get_by_role("link", name=f"{site.topic}-1", exact=True).click()
    expect(visit.page.get_by_role("heading", name=f"{site.topic}-1")).to_be_visible()
    rows = _rows(visit.page, "ledger")
    known = site.of_flow(f"ledger?topic={site.topic}&partition=1&limit=1000")
    starts = {(run["source_offset"], run["target_offset"], run["length"]) for run in known}
    for row in rows[:10]:
        source, target = (_number(row[name].split(" – ")[0]) for name in ("Source offsets", "Target offsets"))
        assert (source, target, _number(row["Records"])) in starts
    expect(visit.page.locator(".value", has_text=site.copy)).to_be_visible()


def test_events_of_all_flows_stand_together(visit: Visit, site: LiveSite) -> None:
    event = {"kind": "retention", "topic": "t", "partition": 3, "from_offset": 12, "to_offset": 99}
    events = [{"at_ms": int(time.time() * 1000) - age, **event, "reason": "gone"} for age in (90_000, 1000)]
    answer_with(visit.page, "**/flows/north*/events", json.dumps(events))
    visit.open("#/events")
    rows = _rows(visit.page, "events")
    assert [(row["What"], row["Flow"], row["Partition"]) for row in rows] == [("retention", site.flow, "t-3")] * 2
    assert rows[0]["Source offsets"] == "12 – 99"
    assert rows[0]["Time"] > rows[1]["Time"]


# -- how it is used -----------------------------------------------------------------------------------------------


def test_tables_are_sorted_and_filtered_by_keyboard(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link())
    _rows(visit.page, "partitions")
    header = visit.page.get_by_role("columnheader", name="Partition", exact=True)
    header.get_by_role("button").focus()
    visit.page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")
    names = [row["Partition"] for row in _rows(visit.page, "partitions")]
    assert names == sorted(names)
    visit.page.keyboard.press("Space")
    expect(header).to_have_attribute("aria-sort", "descending")
    assert [row["Partition"] for row in _rows(visit.page, "partitions")] == names[::-1]
    visit.page.keyboard.press("/")
    box = visit.page.get_by_role("searchbox", name="Filter partitions")
    expect(box).to_be_focused()
    expect(box).to_have_value("")
    visit.page.keyboard.type(f"{site.topic}-2")
    expect(visit.page.get_by_role("table", name="partitions").locator("tbody tr")).to_have_count(1)
    expect(visit.page.locator(".count").first).to_have_text(re.compile("^1 of "))
    visit.page.keyboard.press("Escape")
    expect(box).to_have_value("")
    assert len(_rows(visit.page, "partitions")) == len(names)


def test_a_thousand_partitions_stay_quick(visit: Visit, site: LiveSite) -> None:
    sample: dict[str, Any] = site.of_flow("partitions")[0]
    many = [
        {**sample, "topic": f"t{number % 20}", "partition": number // 20, "lag_records": number}
        for number in range(1000)
    ]
    answer_with(visit.page, "**/partitions", json.dumps(many))
    visit.open(site.link())
    assert _rows(visit.page, "partitions")[0]["Lag"] == "999"
    sort = "document.querySelectorAll('table[aria-label=partitions] .sort')[3].click()"
    took = visit.busy_ms(*map(_laid_out, (sort, sort, _typed("t7"), _typed(""))))
    assert min(took) > 0
    assert max(took) < _RENDER_MS
    assert visit.page.locator("table[aria-label=partitions] tbody tr").count() < 100
    visit.page.get_by_role("columnheader", name="Lag").get_by_role("button").click()
    visit.page.get_by_role("button", name="Next").first.click()
    assert _rows(visit.page, "partitions")[0]["Lag"] == "974"


def _laid_out(action: str) -> str:
    """A script that does something, and has the page laid out then."""
    return f"() => {{ {action}; document.body.getBoundingClientRect(); }}"


def _typed(text: str) -> str:
    box = "document.querySelector('input.filter')"
    return f"{box}.value = '{text}'; {box}.dispatchEvent(new Event('input'))"


def test_charts_show_the_values_of_a_moment_to_pointer_and_keyboard(visit: Visit, site: LiveSite) -> None:
    wait_until(lambda: len(site.of_flow("history")) > 2, "three points", 30, 0.5)
    visit.open(site.link())
    chart = visit.page.get_by_role("slider", name="Rate")
    chart.locator(".line").first.wait_for()
    chart.focus()
    visit.page.keyboard.press("Home")
    first = site.of_flow("history")[0]["records_per_second"]
    shown = chart.get_attribute("aria-valuetext") or ""
    found = re.match(r"\d\d:\d\d:\d\d: ([\d.]+)/s · ", shown)
    assert found, shown
    assert float(found[1]) == pytest.approx(first, abs=0.06)
    expect(visit.page.locator(".chart .hair")).to_have_count(4)
    visit.page.keyboard.press("ArrowRight")
    expect(chart).not_to_have_attribute("aria-valuetext", shown)
    visit.page.keyboard.press("Escape")
    expect(visit.page.locator(".chart .hair")).to_have_count(0)
    chart.hover()
    expect(visit.page.locator(".chart .hair")).to_have_count(4)


def test_the_first_key_leads_past_the_navigation(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link())
    visit.page.keyboard.press("Tab")
    expect(visit.page.locator("#skip")).to_be_focused()
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("main")).to_be_focused()
    assert visit.page.url.endswith(site.link())


# -- what can be done ---------------------------------------------------------------------------------------------


def test_pause_and_resume_really_stop_and_start_the_flow(visit: Visit, site: LiveSite) -> None:
    visit.open(site.link())
    flow = site.mirror.flow(site.flow)
    pause, resume = (visit.page.get_by_role("button", name=verb, exact=True) for verb in ("Pause", "Resume"))
    pause.click()
    dialog = visit.page.get_by_role("dialog", name=f"Pause {site.flow}?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert flow.states[Connector.SOURCE] is RunState.RUNNING
    pause.click()
    visit.shoot("pause-light")
    dialog.get_by_role("button", name="Pause").click()
    expect(visit.page.locator(".notice")).to_contain_text(f"{site.flow} is paused.")
    expect(visit.page.locator(".health .chip")).to_have_text("paused")
    assert set(flow.states.values()) == {RunState.PAUSED}
    expect(pause).to_have_count(0)
    _expect_rest(site)
    resume.click()
    visit.page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(visit.page.locator(".health .chip")).to_have_text(re.compile("up to date|copying"))
    assert set(flow.states.values()) == {RunState.RUNNING}
    await_growth(site.target, site.copy)


def _expect_rest(site: LiveSite) -> None:
    wait_until(lambda: _is_at_rest(site), "a target that no longer moves", 10, 0.1)


def _is_at_rest(site: LiveSite) -> bool:
    before = ends(site.target, site.copy)
    time.sleep(1)
    return ends(site.target, site.copy) == before


def test_a_change_that_fails_says_so(visit: Visit, site: LiveSite) -> None:
    visit.watch.excuse("status of 503")
    answer = json.dumps({"error_code": 503, "message": "south cannot be reached"})
    answer_with(visit.page, "**/state", answer, 503)
    visit.open(site.link())
    visit.page.get_by_role("button", name="Pause", exact=True).click()
    visit.page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(visit.page.locator(".notice.tone-bad")).to_contain_text("could not be changed: south cannot be reached")
    expect(visit.page.get_by_role("button", name="Pause", exact=True)).to_be_enabled()


def test_a_viewer_can_only_look(site: LiveSite, browser: Browser) -> None:
    with visiting(browser, site.root, token_of("viewer")) as visit:
        visit.open(site.link())
        expect(visit.page.get_by_text("Pausing and resuming takes an operator.")).to_be_visible()
        assert visit.page.get_by_role("button", name=re.compile("Pause|Resume")).count() == 0
        expect(visit.page.locator(".caller")).to_have_text("viewers (viewer)")


def test_strangers_sign_in_with_a_token_that_only_their_tab_keeps(site: LiveSite, browser: Browser) -> None:
    with visiting(browser, site.root) as visit:
        visit.watch.excuse("status of 401", "status of 429")
        visit.open(site.link())
        expect(visit.page.get_by_role("heading", name="Sign in")).to_be_visible()
        visit.shoot("login-light")
        visit.page.get_by_label("Token").fill("a wrong one")
        visit.page.get_by_role("button", name="Sign in").click()
        expect(visit.page.locator("#login-error")).to_have_text("That was not accepted.")
        accessibility.expect_names(visit.page)
        visit.page.get_by_label("Token").fill(token_of("operator"))
        visit.page.get_by_role("button", name="Sign in").click()
        expect(visit.page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
        assert token_of("operator") in (visit.page.evaluate("JSON.stringify(sessionStorage)"))
        assert visit.page.evaluate("localStorage.length + document.cookie.length") == 0
        visit.page.get_by_role("button", name="Sign out").click()
        expect(visit.page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert visit.page.evaluate("sessionStorage.length") == 0
        assert site.topic not in visit.page.content()


# -- when the server does not answer ------------------------------------------------------------------------------


def test_nothing_looks_healthy_while_the_server_is_away(site: LiveSite, browser: Browser) -> None:
    with another_server(site.mirror) as server, visiting(browser, server.addresses[0], token_of("viewer")) as visit:
        visit.watch.excuse("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
        visit.open()
        expect(visit.page.locator(".flow-card .chip").first).to_have_text(re.compile("up to date|copying"))
        server.stop()
        expect(visit.page.locator(".banner")).to_contain_text("The server does not answer.")
        expect(visit.page.locator(".banner")).to_contain_text(
            re.compile(r"What you see is from \d\d:\d\d:\d\d, \d+ s ago")
        )
        expect(visit.page.locator(".chip.tone-good, .label.tone-good")).to_have_count(0)
        expect(visit.page.locator(".flow-card .chip").first).to_have_text("unknown")
        expect(visit.page.locator(".flow-card .value").first).to_have_text("?")
        expect(visit.page.locator(".live")).to_have_text("Not live")
        expect(visit.page).to_have_title(re.compile("^⚠ "))
        accessibility.expect_contrast(visit.page)
        visit.shoot("away-light")
        visit.page.goto(f"{visit.page.url.split('#')[0]}{site.link()}")
        expect(visit.page.locator(".banner")).to_contain_text("Nothing is known yet")
        with another_server(site.mirror, server.addresses[0]):
            visit.page.get_by_role("button", name="Try now").click()
            expect(visit.page.locator(".health .chip")).to_have_text(re.compile("up to date|copying"))
            expect(visit.page.locator(".banner")).to_have_count(0)


def test_questions_stop_while_nobody_looks_and_grow_rarer_while_they_fail(visit: Visit, site: LiveSite) -> None:
    """By the page's own clock, which runs as fast as it is told to."""
    visit.watch.excuse("status of 500")
    clock = visit.page.clock
    clock.install()
    visit.open()
    _settle(visit)
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url) if "/topology" in request.url else None)
    clock.run_for(10_000)
    visit.page.wait_for_load_state("networkidle")
    assert asked  # somebody looks
    visit.page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    clock.run_for(3_000)
    visit.page.wait_for_load_state("networkidle")
    asked.clear()
    clock.run_for(60_000)
    assert not asked
    answer_with(visit.page, "**/topology", json.dumps({"error_code": 500, "message": "out of order"}), 500)
    look = "delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); return Date.now()"
    moments = [int(visit.page.evaluate(f"() => {{ {look} }}"))]
    expect(visit.page.locator(".banner")).to_contain_text("The server answers with an error. Out of order.")
    while len(moments) < 4 and moments[-1] < moments[0] + 120_000:
        before = len(asked)
        clock.run_for(200)
        now = int(visit.page.evaluate("Date.now()"))
        if len(asked) > before:
            moments.append(now)
    pauses = [(after - before) / 1000 for before, after in pairwise(moments)]
    assert len(pauses) == 3
    assert pauses[1] > pauses[0] * 1.5 > 4
    assert pauses[2] > pauses[1]


# -- how it looks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_in_light_and_dark(site: LiveSite, browser: Browser, scheme: str) -> None:
    with visiting(browser, site.root, token_of("operator"), scheme) as visit:
        for name, link in _links(site):
            visit.open(link)
            _settle(visit)
            expect(visit.page.locator("html")).to_have_attribute("data-theme", scheme)
            accessibility.expect_names(visit.page)
            accessibility.expect_contrast(visit.page)
            accessibility.expect_order(visit.page)
            accessibility.expect_fits(visit.page)
            visit.shoot(f"{name}-{scheme}")


def test_every_page_fits_a_telephone(site: LiveSite, browser: Browser) -> None:
    with visiting(browser, site.root, token_of("operator"), width=360) as visit:
        for name, link in _links(site):
            visit.open(link)
            _settle(visit)
            accessibility.expect_fits(visit.page)
            visit.shoot(f"{name}-narrow")


def _links(site: LiveSite) -> list[tuple[str, str]]:
    pages = [(page or "flow", site.link(*filter(None, [page]))) for page in _PAGES]
    return [("overview", "#/"), *pages, ("partition", site.link("partitions", site.topic, "0")), ("events", "#/events")]


def test_colours_can_be_chosen_and_stay_chosen(visit: Visit) -> None:
    visit.open()
    html = visit.page.locator("html")
    visit.page.get_by_role("button", name="Use dark colours").click()
    expect(html).to_have_attribute("data-theme", "dark")
    visit.page.reload()
    expect(html).to_have_attribute("data-theme", "dark")
    visit.page.get_by_role("button", name="Use light colours").click()
    expect(html).to_have_attribute("data-theme", "light")


def test_nothing_moves_for_those_who_do_not_want_it(visit: Visit) -> None:
    visit.page.emulate_media(reduced_motion="reduce")
    visit.open()
    _settle(visit)
    expect(visit.page.locator(".way.is-moving")).not_to_have_count(0, timeout=PATIENCE_MS)
    assert visit.page.evaluate("document.getAnimations().length") == 0


def test_an_unknown_address_leads_back(visit: Visit, site: LiveSite) -> None:
    visit.watch.excuse("status of 404")
    visit.open("#/nowhere")
    visit.page.get_by_role("link", name="To the overview").click()
    expect(visit.page.get_by_role("heading", name="Overview")).to_be_visible()
    visit.page.goto(f"{site.root}/ui/#/flows/a-%3Enowhere")
    expect(visit.page.locator(".banner")).to_contain_text("There is no flow a->nowhere")
