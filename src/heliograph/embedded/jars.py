"""Fetches the locked jars of Kafka and MirrorMaker 2 into a cache, with the resolver that Spark ships."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources, util
from pathlib import Path
from xml.sax.saxutils import quoteattr

from heliograph.cache import alone_with, cache_folder
from heliograph.errors import DownloadFailed
from heliograph.java import ensure_java

Progress = Callable[[int, int], None]

REPOSITORY_VARIABLE = "HELIOGRAPH_MAVEN_REPOSITORY"


@dataclass(frozen=True)
class Jar:
    """One jar: where it comes from and what it must contain."""

    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name of the jar in the cache."""
        return f"{self.name}-{self.version}.jar"


def locked_jars() -> tuple[Jar, ...]:
    """The jars that the lock file names."""
    return parse_lock(resources.files(__package__).joinpath("jars.lock").read_text())


def parse_lock(text: str) -> tuple[Jar, ...]:
    """The jars of a lock file's text: one per line, as `organisation:name:version sha256`."""
    return tuple(_parse(line) for line in text.splitlines() if line and not line.startswith("#"))


def kafka_version() -> str:
    """The version of Kafka that the lock file names."""
    return next(jar.version for jar in locked_jars() if jar.name == "kafka-clients")


def fetch_jars(progress: Progress = lambda _done, _total: None) -> Path:
    """The folder that holds all locked jars; downloads what is missing and checks every download.

    They come from the central Maven repository, or from the mirror that HELIOGRAPH_MAVEN_REPOSITORY names.
    """
    folder = cache_folder() / f"kafka-{kafka_version()}" / "jars"
    fetch_into(folder, locked_jars(), progress)
    return folder


def fetch_into(folder: Path, jars: Sequence[Jar], progress: Progress = lambda _done, _total: None) -> None:
    """Download those of the jars that the folder does not hold yet; all or none of them arrive there."""
    folder.mkdir(parents=True, exist_ok=True)
    with alone_with(folder):
        missing = [jar for jar in jars if not (folder / jar.file_name).exists()]
        if missing:
            _download(missing, folder, progress)


def _parse(line: str) -> Jar:
    coordinates, sha256 = line.split()
    organisation, name, version = coordinates.split(":")
    return Jar(organisation, name, version, sha256)


def _download(jars: list[Jar], folder: Path, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        staging = Path(scratch)
        output = _run_resolver(jars, staging, progress)
        for jar in jars:
            downloaded = staging / jar.file_name
            if not downloaded.exists():
                raise DownloadFailed(_failure(jar, output))
            if hashlib.sha256(downloaded.read_bytes()).hexdigest() != jar.sha256:
                raise DownloadFailed(f"{jar.file_name} was downloaded but its SHA-256 is not the one in jars.lock")
        for jar in jars:
            (staging / jar.file_name).rename(folder / jar.file_name)


def _run_resolver(jars: list[Jar], staging: Path, progress: Progress) -> list[str]:
    (staging / "settings.xml").write_text(_ivy_settings())
    (staging / "ivy.xml").write_text(_ivy_module(jars))
    command = [
        str(ensure_java()), "-jar", str(_ivy_jar()),
        "-settings", str(staging / "settings.xml"), "-cache", str(staging / "cache"),
        "-ivy", str(staging / "ivy.xml"), "-retrieve", str(staging / "[artifact]-[revision].[ext]"),
    ]  # fmt: skip
    done, output = 0, []
    progress(done, len(jars))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as resolver:
        assert resolver.stdout is not None
        for line in resolver.stdout:
            output.append(line.rstrip())
            if "[SUCCESSFUL ]" in line:
                done += 1
                progress(done, len(jars))
    return output


def _ivy_settings() -> str:
    mirror = os.environ.get(REPOSITORY_VARIABLE)
    root = f"root={quoteattr(mirror)}" if mirror else ""
    # The lock names every jar, so no metadata has to be read; this makes the download three times faster.
    return (
        '<ivysettings><settings defaultResolver="maven"/><resolvers>'
        f'<ibiblio name="maven" m2compatible="true" usepoms="false" useMavenMetadata="false" {root}/>'
        "</resolvers></ivysettings>"
    )


def _ivy_module(jars: list[Jar]) -> str:
    dependencies = "".join(
        f'<dependency org="{jar.organisation}" name="{jar.name}" rev="{jar.version}" transitive="false"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="heliograph" module="embedded"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies defaultconf="default->*">{dependencies}</dependencies></ivy-module>'
    )


def _ivy_jar() -> Path:
    pyspark = util.find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    return next(Path(pyspark.origin).parent.joinpath("jars").glob("ivy-*.jar"))


def _failure(jar: Jar, output: list[str]) -> str:
    reasons = [line.strip() for line in output if "exception" in line.lower() or "timed out" in line.lower()]
    reason = reasons[0] if reasons else "the resolver found it in no repository"
    coordinates = f"{jar.organisation}:{jar.name}:{jar.version}"
    return f"could not download {coordinates}: {reason}; check the network and try again"
