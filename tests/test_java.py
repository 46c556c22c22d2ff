"""Which Java is used, and what is said when there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heliograph.errors import JavaMissing
from heliograph.java import ensure_java, find_java


def fake_java(home: Path, version_line: str) -> Path:
    """A `java` that only tells its version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
    program.chmod(0o755)
    return program


def use(monkeypatch: pytest.MonkeyPatch, home: Path | None, path: Path) -> None:
    """Let only these places be looked at."""
    if home is None:
        monkeypatch.setenv("JAVA_HOME", "")
    else:
        monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(path / "bin"))


def test_java_home_is_preferred_to_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = fake_java(tmp_path / "home", 'openjdk version "21.0.4" 2024-07-16')
    fake_java(tmp_path / "path", 'openjdk version "25" 2025-09-16')
    use(monkeypatch, tmp_path / "home", tmp_path / "path")

    assert find_java() == chosen


def test_the_path_is_used_when_java_home_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "home", 'openjdk version "11.0.2" 2019-01-15')
    chosen = fake_java(tmp_path / "path", 'openjdk version "17.0.9" 2023-10-17')
    use(monkeypatch, tmp_path / "home", tmp_path / "path")

    assert find_java() == chosen


def test_the_path_is_used_when_java_home_is_empty_or_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = fake_java(tmp_path / "path", 'java version "17.0.9" 2023-10-17 LTS')
    for home in (None, tmp_path / "nowhere"):
        use(monkeypatch, home, tmp_path / "path")
        assert find_java() == chosen


@pytest.mark.parametrize(
    "version_line",
    ['java version "1.8.0_391"', 'openjdk version "11.0.2" 2019-01-15', "no version at all"],
)
def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version_line: str) -> None:
    fake_java(tmp_path / "home", version_line)
    use(monkeypatch, tmp_path / "home", tmp_path / "nothing")

    assert find_java() is None
    with pytest.raises(JavaMissing):
        ensure_java()


def test_missing_java_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None, tmp_path)

    with pytest.raises(
        JavaMissing, match=r"^Java 17 or newer is needed .*apt-get install.* or set JAVA_HOME$"
    ) as missing:
        ensure_java()

    assert missing.value.exit_code == 3
    assert "\n" not in str(missing.value)


def test_spark_gets_the_same_java_through_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fake_java(tmp_path / "jdk", 'openjdk version "21.0.4" 2024-07-16')
    link = tmp_path / "path" / "bin" / "java"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    use(monkeypatch, None, tmp_path / "path")

    assert ensure_java() == link
    assert os.environ["JAVA_HOME"] == str(tmp_path / "jdk")
