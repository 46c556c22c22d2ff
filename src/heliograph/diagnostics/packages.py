"""Whether the installed packages are those that the program asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

from heliograph.diagnostics.observation import Observation, Verdict
from heliograph.diagnostics.versions import installed

_ADVICE = "install the packages of requirements.lock again"


def required() -> list[str]:
    """What our own package says that it needs; nothing where it was not installed as a package."""
    try:
        return metadata.requires("heliograph") or []
    except metadata.PackageNotFoundError:
        return []


def check_packages(wanted: Iterable[str], version_of: Callable[[str], str] = installed) -> Iterator[Observation]:
    """One line if all are as they should be, else one for each that is not."""
    needed = [requirement for text in wanted if (requirement := _applicable(text))]
    if not needed:
        yield Observation("packages", Verdict.UNKNOWN, "heliograph is not installed as a package")
        return
    wrong = [found for requirement in needed if (found := _misfit(requirement, version_of(requirement.name)))]
    yield from wrong or [Observation("packages", Verdict.OK, f"all {len(needed)} of the needed versions")]


def _applicable(text: str) -> Requirement | None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    return requirement if requirement.marker is None or requirement.marker.evaluate() else None


def _misfit(requirement: Requirement, version: str) -> Observation | None:
    if not version:
        return Observation(requirement.name, Verdict.FAILED, "is not installed", _ADVICE)
    try:
        fits = requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        fits = False
    if fits:
        return None
    return Observation(requirement.name, Verdict.FAILED, f"is {version}, needed is {requirement.specifier}", _ADVICE)
