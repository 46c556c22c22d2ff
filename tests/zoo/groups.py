"""Consumer groups that tests wait for."""

from __future__ import annotations

from heliograph.kafka.groups import Groups


def state_of(groups: Groups, name: str) -> str:
    """What a group does; nothing while its first member has not joined."""
    found = groups.list().get(name)
    return "" if found is None else found.state
