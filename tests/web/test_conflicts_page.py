"""The page of conflicts shows what clusters have decided: real decisions in real topics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from heliograph.config.mirror_config import load
from heliograph.conflicts.totals import PassedBy
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition
from tests.control.conflicts.stage import DecisionTopic, decided, decision_topic, now, write_file
from tests.control.rest.serving import LOOPBACK, TOKENS, serving, token_of
from tests.web import accessibility
from tests.web.browser import PATIENCE_MS, Visit, answer_with, visiting

pytestmark = pytest.mark.kafka

_HOSTILE = b'<img src=x onerror="document.title=1">'


class ConflictSite:
    """A server whose mirror need not run, and what two clusters have decided."""

    def __init__(self, mirror: RunningMirror, root: str, eu: DecisionTopic, us: DecisionTopic) -> None:
        self.mirror, self.root, self.eu, self.us = mirror, root, eu, us

    def answer(self) -> Any:
        """What the API says itself."""
        headers = {"Authorization": f"Bearer {token_of('operator')}"}
        return httpx.get(f"{self.root}/api/v1/conflicts", headers=headers, trust_env=False, timeout=30).json()

    def write(self) -> None:
        """Three conflicts of one key, one of another, a merge; on `us` only one."""
        at = now()
        for age in (2_400_000, 1_200_000, 100_000):
            self.eu.write(decided(at - age, b"order-7", values=(b'{"total": 1}', b'{"total": 2}')))
        self.eu.write(decided(at - 60_000, b"basket-1", topic="carts", winner=None, rule="crdt"))
        self.eu.write(decided(at - 30_000, b"order-8", values=(_HOSTILE, None), winner=0))
        self.us.write(decided(at - 100_000, b"only-here", on="us"))


@pytest.fixture(scope="module")
def site(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConflictSite]:
    with decision_topic(cluster_pair[0]) as eu, decision_topic(cluster_pair[1]) as us:
        file = write_file(tmp_path_factory.mktemp("conflicts"), cluster_pair, topics="orders, carts")
        with file.open("a") as lines:
            lines.write(TOKENS)
        mirror = RunningMirror(load(file))
        server = RestServer(mirror, (LOOPBACK,))
        server.start()
        site = ConflictSite(mirror, server.addresses[0], eu, us)
        site.write()
        yield site
        server.stop()


@contextmanager
def opened(
    browser: Browser, root: str, role: str = "operator", scheme: str = "light", width: int = 1280
) -> Iterator[Visit]:
    with visiting(browser, root, token_of(role), scheme, width) as visit:
        visit.open("#/conflicts")
        expect(visit.page.locator(".loading:visible")).to_have_count(0)
        yield visit


def card(page: Page, key: str) -> Locator:
    return page.locator(".decision", has=page.locator("h3", has_text=key)).first


def numbers(page: Page) -> dict[str, str]:
    items = page.locator(".number-card")
    return dict(zip(items.locator("dt").all_inner_texts(), items.locator(".value").all_inner_texts(), strict=True))


def test_it_shows_how_many_conflicts_there_were_and_which_keys_had_them(browser: Browser, site: ConflictSite) -> None:
    site.mirror.conflicts["eu"].totals.records = 12_345
    with opened(browser, site.root) as visit:
        page = visit.page
        expect(page.locator(".number-card").first).to_contain_text("5")
        shown = numbers(page)
        assert (shown["Conflicts"], shown["Rate"], shown["Records looked at"]) == ("5", "< 0.1/min", "12.3 k")
        rows = page.get_by_role("table", name="keys", exact=True).locator("tbody tr")
        expect(rows).to_have_count(3)
        assert rows.first.inner_text().split() == ["order-7", "orders", "3"]
        shares = page.get_by_role("table", name="shares", exact=True).locator("tbody tr").all_inner_texts()
        assert {tuple(row.split()) for row in shares} >= {("us", "winner", "3"), ("crdt", "rule", "1")}
        frame = page.get_by_role("slider", name="Conflicts per minute")
        expect(frame).to_have_attribute("aria-valuemax", re.compile("5[89]|60"))
        assert page.locator(".chart path.line").count() == 1  # in one piece, not one for each minute
        expect(page.get_by_role("link", name="Conflicts", exact=True)).to_have_attribute("aria-current", "page")
        expect(page).to_have_title("Conflicts · Heliograph")


def test_records_stand_side_by_side_with_the_winner_marked(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root) as visit:
        table = card(visit.page, "order-7").locator("table")
        heads = [text.split() for text in table.locator("thead th").all_inner_texts()]
        assert heads == [["Written", "on"], ["eu"], ["us", "won"]]
        expect(table.locator("thead th.won svg.icon")).to_have_count(1)
        time, place, value = (row.locator("td") for row in table.locator("tbody tr").all())
        assert time.nth(1).inner_text().endswith("+300 ms")
        assert "ms" not in time.nth(0).inner_text()
        assert place.all_inner_texts() == ["orders-0, offset 40", "us.orders-0, offset 41"]
        assert value.all_inner_texts() == ['{"total": 1}', '{"total": 2}']
        merge = card(visit.page, "basket-1")
        expect(merge).to_contain_text("Merged: merged")
        expect(merge.locator(".won")).to_have_count(0)


def test_what_records_say_is_only_text(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root) as visit:
        found = card(visit.page, "order-8")
        expect(found.locator("td code").first).to_have_text(_HOSTILE.decode())
        expect(found).to_contain_text("deletes the key")
        assert visit.page.locator("main img").count() == 0


def test_a_filter_and_a_key_narrow_the_decisions(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root) as visit:
        page = visit.page
        decisions, filter_box = page.locator(".decision"), page.get_by_label("Filter decisions by topic or key")
        expect(decisions).to_have_count(5)
        filter_box.fill("carts bask")
        expect(decisions).to_have_count(1)
        filter_box.fill("nothing such")
        expect(page.locator(".empty:visible")).to_have_text("Nothing fits the filter.")
        expect(decisions).to_have_count(0)
        filter_box.fill("")
        with page.expect_request(re.compile(r"/conflicts\?limit=50&topic=orders&key=order-7$")):
            page.get_by_role("button", name="order-7", exact=True).click()
        expect(decisions).to_have_count(3)
        expect(page.get_by_text("Only orders · order-7")).to_be_visible()
        page.get_by_role("button", name="Show all keys").click()
        expect(decisions).to_have_count(5)


def test_another_cluster_can_be_looked_at(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root) as visit:
        expect(visit.page.locator(".decision")).to_have_count(5)
        visit.page.get_by_label("Decided on").select_option("us")
        expect(visit.page.locator(".decision")).to_have_count(1)
        expect(card(visit.page, "only-here")).to_be_visible()
        expect(visit.page.get_by_text("Looks for conflicts in orders, carts within 5 s")).to_be_visible()


def test_new_decisions_appear_by_themselves(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root) as visit:
        visit.page.get_by_label("Decided on").select_option("us")
        site.us.write(decided(now(), b"fresh", on="us"))
        expect(visit.page.locator(".decision h3").first).to_have_text("orders · fresh", timeout=PATIENCE_MS)


def test_viewers_see_sizes_instead_of_values(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root, "viewer") as visit:
        expect(visit.page.get_by_text("What the records say is shown to operators.")).to_be_visible()
        values = card(visit.page, "order-7").locator("tbody tr").last.locator("td")
        assert values.all_inner_texts() == ["12 B", "12 B"]
        assert "total" not in visit.page.content()


def test_trouble_of_detection_is_said_aloud(browser: Browser, site: ConflictSite) -> None:
    totals = site.mirror.conflicts["eu"].totals
    totals.trouble, totals.late = "no broker answers", 3
    try:
        with opened(browser, site.root) as visit:
            expect(visit.page.locator(".callout.tone-bad")).to_contain_text("no broker answers")
            expect(visit.page.locator(".callout.tone-warn")).to_contain_text("3 records came too late")
            expect(visit.page).to_have_title("⚠ Conflicts · Heliograph")
    finally:
        totals.trouble, totals.late = "", 0


def test_what_cannot_be_read_is_shown(browser: Browser, site: ConflictSite) -> None:
    totals = site.mirror.conflicts["eu"].totals
    totals.pass_by([PassedBy(TopicPartition("orders", 2), 7, 9, "it fails its checksum")])
    try:
        with opened(browser, site.root) as visit:
            note = visit.page.locator(".callout.tone-warn")
            expect(note).to_contain_text("3 offsets cannot be read")
            expect(note).to_contain_text("orders-2: offsets 7 to 9 passed by: it fails its checksum")
    finally:
        totals.unreadable, totals.passed_by = 0, []


def test_what_cannot_be_known_is_not_shown_as_if_it_were(browser: Browser, site: ConflictSite) -> None:
    with opened(browser, site.root) as visit:
        visit.watch.excuse("503")
        expect(visit.page.locator(".number-card").first.locator(".value")).to_have_text("5")
        answer_with(visit.page, "**/api/v1/conflicts?*", '{"error_code": 503, "message": "gone"}', 503)
        expect(visit.page.locator(".number-card").first.locator(".value")).to_have_text("?", timeout=PATIENCE_MS)
        expect(visit.page.locator(".number-card").first.locator(".note")).to_have_text("was 5")
    figures = site.answer()
    figures["clusters"][0]["trouble"] = "eu: no broker answers"
    with visiting(browser, site.root, token_of("operator")) as visit:
        answer_with(visit.page, "**/api/v1/conflicts?*", json.dumps(figures))
        visit.open("#/conflicts")
        expect(visit.page.locator(".number-card").first.locator(".value")).to_have_text("≥ 5")
        expect(visit.page.locator(".callout.tone-bad")).to_contain_text("cannot be read: eu: no broker answers")


def test_without_detection_it_explains_how_to_turn_it_on(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, TOKENS) as served, opened(browser, served.address) as visit:
        expect(visit.page.get_by_role("heading", name="Detection is off")).to_be_visible()
        expect(visit.page.locator("pre")).to_contain_text("conflicts.topics = orders")
        expect(visit.page.locator(".number-card:visible")).to_have_count(0)
        _expect_readable(visit.page)
        visit.shoot("conflicts-off")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Browser, site: ConflictSite, scheme: str) -> None:
    for width in (1280, 360):
        with opened(browser, site.root, scheme=scheme, width=width) as visit:
            expect(visit.page.locator(".decision").first).to_be_visible()
            _expect_readable(visit.page)
            visit.shoot(f"conflicts-{scheme}-{width}")


def _expect_readable(page: Page) -> None:
    accessibility.expect_names(page)
    accessibility.expect_order(page)
    accessibility.expect_fits(page)
    accessibility.expect_contrast(page)
