"""Numbers read as people write them, axes have round steps, arrows and labels stay out of each other's way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.control.rest.serving import serving
from tests.web.browser import visiting

Call = Callable[..., Any]
_THIN = "\u202f"


@pytest.fixture(scope="module")
def call(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """Calls a function of one of the page's own modules, within the page."""
    with serving(tmp_path_factory.mktemp("numbers")) as served, visiting(browser, served.address) as visit:
        visit.open()

        def call(module: str, function: str, *arguments: Any) -> Any:
            script = """async ([url, name, given]) => {
                const result = (await import(url))[name](...given);
                return result instanceof Map ? Object.fromEntries(result) : result;
            }"""
            url = f"{served.address}/ui/static/js/{module}.js"
            return visit.page.evaluate(script, [url, function, list(arguments)])

        yield call


@pytest.mark.parametrize(
    ("function", "given", "shown"),
    [
        ("count", 0, "0"),
        ("count", 9999, f"9{_THIN}999"),
        ("count", 12_345, "12.3 k"),
        ("count", 999_950, "1 M"),
        ("count", 1_234_567, "1.2 M"),
        ("count", 123_456_789, "123 M"),
        ("count", None, "–"),
        ("exact", 1_234_567, f"1{_THIN}234{_THIN}567"),
        ("exact", -1234, f"-1{_THIN}234"),
        ("rate", 0, "0/s"),
        ("rate", 0.04, "< 0.1/s"),
        ("rate", 3.44, "3.4/s"),
        ("rate", 48_211.3, "48.2 k/s"),
        ("bytes", 999, "999 B"),
        ("bytes", 999.6, "1 kB"),
        ("byteRate", 3_400_000, "3.4 MB/s"),
        ("duration", 0, "0 s"),
        ("duration", 0.0004, "< 1 ms"),
        ("duration", 0.35, "350 ms"),
        ("duration", 0.9999, "1 s"),
        ("duration", 3.44, "3.4 s"),
        ("duration", 9.97, "10 s"),
        ("duration", 59.6, "1 m"),
        ("duration", 80, "1 m 20 s"),
        ("duration", 3600, "1 h"),
        ("duration", 3 * 3600 + 5 * 60, "3 h 5 m"),
        ("duration", 2 * 86_400 + 4 * 3600, "2 d 4 h"),
        ("duration", None, "–"),
        ("milliseconds", 14.2, "14 ms"),
    ],
)
def test_a_number_reads_as_people_write_it(call: Call, function: str, given: float | None, shown: str) -> None:
    assert call("format", function, given) == shown


def test_an_age_is_never_in_the_future(call: Call) -> None:
    assert [call("format", "ago", at, 100_000) for at in (0, 20_000, 99_500, 100_900)] == [
        "never",
        "1 m 20 s ago",
        "just now",
        "just now",
    ]


@pytest.mark.parametrize("highest", [0, 1, 7, 99, 1234, 5_000_000])
def test_steps_of_a_count_are_round_and_reach_the_highest(call: Call, highest: float) -> None:
    ticks = call("scale", "countTicks", highest)
    assert ticks[0] == 0
    assert ticks[-1] >= highest > ticks[-2] or highest == 0
    assert len(ticks) <= 5
    assert str(ticks[1]).strip("0.") in ("1", "2", "5")


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [(2.4, [0, 1, 2, 3]), (100, [0, 60, 120]), (4000, [0, 1800, 3600, 5400]), (0, [0, 0.005, 0.01])],
)
def test_steps_of_time_are_seconds_minutes_and_hours(call: Call, highest: float, ticks: list[float]) -> None:
    assert call("scale", "timeTicks", highest) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("health", "is_stale", "tone"),
    [
        ("up to date", False, "good"),
        ("copying", False, "good"),
        ("heartbeats only", False, "good"),
        ("paused", False, "idle"),
        ("degraded", False, "warn"),
        ("stalled", False, "bad"),
        ("failing", False, "bad"),
        ("ended", False, "bad"),
        ("a word of tomorrow", False, "warn"),
        ("up to date", True, "unknown"),
    ],
)
def test_what_is_not_known_never_looks_healthy(call: Call, health: str, is_stale: bool, tone: str) -> None:
    look = call("health", "lookOf", {"health": health, "is_good": False}, is_stale)
    assert look["tone"] == tone
    assert look["word"] == ("unknown" if is_stale else health)


@pytest.mark.parametrize(
    ("health", "waited", "unseen", "point"),
    [
        ("up to date", 0, 3, 3),
        ("copying", 2, 4, 6),
        ("stalled", 100, 60, 100),
        ("stalled", 0, 60, 60),
        ("starting", 0, 0, None),
    ],
)
def test_the_recovery_point_counts_what_nobody_has_seen(
    call: Call, health: str, waited: float, unseen: float, point: float | None
) -> None:
    flow = {"health": health, "lag_seconds": waited, "lag_known_age_seconds": unseen}
    assert call("health", "recoveryPoint", flow) == point


@pytest.mark.parametrize(
    "route", ["#/flows/a->b/topics", "#/flows/a-%3Eb/topics", "#/flows/a-%3eb/topics/", "/flows/a->b/topics"]
)
def test_addresses_may_be_encoded_or_not(call: Call, route: str) -> None:
    assert call("route", "parseRoute", route) == {"page": "topics", "flow": "a->b", "rest": []}


def test_an_address_survives_any_name(call: Call) -> None:
    link = call("route", "flowLink", "a->b", "partitions", "50 %/x", 3)
    assert call("route", "parseRoute", link) == {"page": "partitions", "flow": "a->b", "rest": ["50 %/x", "3"]}


def _pair() -> list[tuple[str, str]]:
    return [("a", "b"), ("b", "a")]


def _ring(count: int) -> list[tuple[str, str]]:
    names = [f"dc-{number}" for number in range(count)]
    onward = list(zip(names, names[1:] + names[:1], strict=True))
    return onward + [(target, source) for source, target in onward]


def _star(count: int) -> list[tuple[str, str]]:
    return [("hub", f"leaf-{number}") for number in range(count - 1)]


def _name(flows: object) -> str:
    return f"{flows[0][0]}-{len(flows)}" if isinstance(flows, list) else ""


@pytest.mark.parametrize("width", [320, 1200])
@pytest.mark.parametrize("flows", [_pair(), _ring(3), _ring(8), _star(4), _star(8)], ids=_name)
def test_clusters_stay_apart_and_inside_the_picture(call: Call, flows: list[tuple[str, str]], width: int) -> None:
    aliases = list(dict.fromkeys(alias for flow in flows for alias in flow))
    arrows = [{"source": source, "target": target} for source, target in flows]
    boxes = list(call("picture_layout", "placeClusters", aliases, arrows, width).values())
    height = call("picture_layout", "pictureHeight", len(aliases), width)
    assert len(boxes) == len(aliases)
    for box in boxes:
        assert box["width"] / 2 <= box["x"] <= width - box["width"] / 2
        assert box["height"] / 2 <= box["y"] <= height - box["height"] / 2
    assert not any(_overlap(one, other) for index, one in enumerate(boxes) for other in boxes[:index])


@pytest.mark.parametrize("flows", [_pair(), _ring(4), _ring(8), _star(8)], ids=_name)
def test_labels_on_a_wide_screen_hold_words_and_cover_nothing(call: Call, flows: list[tuple[str, str]]) -> None:
    aliases = list(dict.fromkeys(alias for flow in flows for alias in flow))
    arrows = [{"source": source, "target": target} for source, target in flows]
    boxes = call("picture_layout", "placeClusters", aliases, arrows, 1200)
    curves = [
        call("picture_layout", "curveBetween", boxes[source], boxes[target], (target, source) in flows)
        for source, target in flows
    ]
    room = {"width": 1200, "height": call("picture_layout", "pictureHeight", len(aliases), 1200)}
    sizes = [{"width": width, "height": height} for width, height in ((168, 46), (134, 40), (82, 28), (26, 26))]
    placed = call("picture_layout", "placeLabels", curves, list(boxes.values()), sizes, room)
    assert placed["size"]["width"] >= 134
    taken = [*boxes.values(), *placed["seats"]]
    assert not any(_overlap(one, other) for index, one in enumerate(taken) for other in taken[:index])


def _overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(
        abs(one[axis] - other[axis]) < (one[side] + other[side]) / 2 for axis, side in (("x", "width"), ("y", "height"))
    )
