"""What the tests of configurations share: files made from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.errors import ConfigError

TWO_CLUSTERS = """\
clusters = a, b
a.bootstrap.servers = a:9092
b.bootstrap.servers = b:9092
a->b.enabled = true
"""


@pytest.fixture
def load_text(tmp_path: Path) -> Callable[..., MirrorConfig]:
    """Load a configuration from text that is added to two clusters and one flow, a->b."""

    def load_it(
        text: str = "",
        base: str = TWO_CLUSTERS,
        environment: Mapping[str, str] | None = None,
        clusters: Sequence[str] | None = None,
    ) -> MirrorConfig:
        path = tmp_path / "mm2.properties"
        path.write_text(base + text, encoding="latin-1")
        return load(path, environment={} if environment is None else environment, clusters=clusters)

    return load_it


@pytest.fixture
def problems_of(load_text: Callable[..., MirrorConfig]) -> Callable[..., list[str]]:
    """All problems that loading such a text finds, each as `severity key: message (hint)`."""

    def problems(text: str = "", **arguments: object) -> list[str]:
        try:
            found = load_text(text, **arguments).problems
        except ConfigError as error:
            found = error.problems
        return [f"{p.severity.value} {p.key}: {p.message} ({p.hint})" for p in found]

    return problems
