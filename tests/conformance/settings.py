"""What the files of all mirrors of these tests say."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.route import Route

# As MirrorMaker 2's own tests have it.
EVERY_SECOND = {
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "emit.heartbeats.interval.seconds": "1",
    "offset.storage.partitions": "2",
    "tasks.max": "1",
    "config.properties.exclude": r"delete\\.retention\\..*",
    # Else those who mirror heartbeats both ways would do so with each other's, in ever longer chains.
    "heartbeats.replication.enabled": "false",
}


def flow_names(*routes: Route) -> list[str]:
    """The flows of routes."""
    return [_flow(way) for route in routes for way in _ways(route)]


def chosen(*routes: Route) -> dict[str, str]:
    """What flows mirror and which groups they follow; copies come into question at home, as for MirrorMaker 2."""
    options: dict[str, str] = {}
    for route in routes:
        own = f"{route.label}-.*"
        for way in _ways(route):
            options[f"{_flow(way)}.topics"] = f"{own}, {way.source.alias}\\\\.{own}, {way.target.alias}\\\\.{own}"
            options[f"{_flow(way)}.groups"] = own
    return options


def heartbeats(route: Route) -> dict[str, str]:
    """Heartbeats in both directions, whether the flow back is enabled or not."""
    return {
        f"{_flow(way)}.{name}": "true"
        for way in (route, route.back)
        for name in ("emit.heartbeats.enabled", "heartbeats.replication.enabled")
    }


def _ways(route: Route) -> Iterator[Route]:
    yield route
    if route.is_two_way:
        yield route.back


def _flow(way: Route) -> str:
    return f"{way.source.alias}->{way.target.alias}"
