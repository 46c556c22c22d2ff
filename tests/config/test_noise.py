"""Whatever is thrown at the parser and the loader, only ConfigError comes back."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.config import options
from heliograph.config.mirror_config import load
from heliograph.config.properties import parse
from heliograph.errors import ConfigError

SEEDS = [file.read_bytes() for file in sorted((Path(__file__).parent / "seeds").glob("*.properties"))]
NAMES = sorted({option.name for option in options.OPTIONS})
PREFIXES = ["", "a.", "b.", "a->b.", "b->a.", "c->a.", "a.consumer.", "a->b.target.producer.", "consumer."]
BASE = "clusters=a,b\na.bootstrap.servers=a:1\nb.bootstrap.servers=b:1\na->b.enabled=true\n"
VALUES = st.one_of(
    st.sampled_from(["true", "1", "-1", "a,b", ".*", "SASL_SSL", "SSL", "${env:X}", "${file:/nowhere:k}", "", "("]),
    st.text(st.characters(exclude_categories=["Cs"], max_codepoint=255), max_size=20),
)


def loads_or_config_error(data: bytes, folder: Path) -> None:
    path = folder / "mm2.properties"
    path.write_bytes(data)
    try:
        problems = load(path, environment={}).problems
    except ConfigError as error:
        problems = error.problems
    assert all(str(problem).encode("utf-8") for problem in problems)


@given(st.binary(max_size=400))
def test_noise_in_the_parser(data: bytes) -> None:
    try:
        parsed = parse(data, "f")
    except ConfigError:
        return
    assert all(entry.line >= 1 for entry in parsed.entries.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(data=st.binary(max_size=200))
def test_noise_in_the_loader(data: bytes, tmp_path: Path) -> None:
    loads_or_config_error(BASE.encode() + data, tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(
    seed=st.sampled_from(SEEDS),
    position=st.integers(0, 2000),
    length=st.integers(0, 30),
    patch=st.binary(max_size=10),
)
def test_mutated_files(seed: bytes, position: int, length: int, patch: bytes, tmp_path: Path) -> None:
    at = position % (len(seed) + 1)
    loads_or_config_error(seed[:at] + patch + seed[at + length :], tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(lines=st.lists(st.tuples(st.sampled_from(PREFIXES), st.sampled_from(NAMES), VALUES), max_size=8))
def test_any_values_for_known_keys(lines: list[tuple[str, str, str]], tmp_path: Path) -> None:
    text = BASE + "".join(f"{prefix}{name}={value}\n" for prefix, name, value in lines)
    loads_or_config_error(text.encode("latin-1"), tmp_path)
