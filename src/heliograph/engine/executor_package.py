"""What executors on other machines need of this program, as zips: they need no files of the driver and no internet.

Two zips, because one changes seldom and is large: others' packages, made once for their versions, and our own modules,
made with every start. What is compiled in them fits the driver's kind of machine and version of Python only, so
executors must have the same.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata, util
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement

from heliograph.cache import cache_folder
from heliograph.errors import StartError

log = logging.getLogger(__name__)

PROGRAM = "heliograph"
_OF_SPARK = {"pyspark", "py4j"}  # executors have these, in the version of their cluster
_NEEDLESS_FOLDERS = {"__pycache__", "include", "tests"}
_NEEDLESS_SUFFIXES = {".pyc", ".pyi", ".pyx", ".pxd", ".h", ".a"}
_COMPRESSION = 1  # most of it is machine code: trying harder takes longer than sending more

Entry = tuple[str, Path]  # a name in a zip, and its file


def dependencies_zip() -> Path:
    """The zip of others' packages, made where it is missing."""
    needed = list(_needed())
    versions = sorted(f"{item.metadata['Name']} {item.version}" for item in needed)
    built_for = f"{sys.version_info[:2]} {platform.machine()} {versions}"
    path = cache_folder() / f"executors-{hashlib.sha256(built_for.encode()).hexdigest()[:16]}.zip"
    if not path.exists():
        log.info("first use on a cluster: packing what executors need (about 20 s, once)")
        write_zip(path, _files_of(needed))
    return path


def write_program(path: Path, modules: Iterable[str]) -> None:
    """Write the zip of our own modules, and of a user's that we were told to load."""
    write_zip(path, _own_files(modules))


def write_package(path: Path) -> None:
    """Write one zip of everything, from which the program can run."""
    ours = metadata.distribution(PROGRAM)
    about_us = [entry for entry in _files_of([ours]) if ".dist-info/" in entry[0]]
    write_zip(path, [*_own_files(()), *about_us, *_files_of(_needed())])


def write_zip(path: Path, entries: Iterable[Entry]) -> None:
    """Write a zip, which is there only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION) as archive:
            for name, file in entries:
                archive.write(file, name)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _own_files(modules: Iterable[str]) -> Iterator[Entry]:
    known = _distributed_modules() | sys.stdlib_module_names | {PROGRAM}
    users = {name.partition(".")[0] for name in modules} - known
    for name in [PROGRAM, *sorted(users)]:
        yield from _files_of_module(name)


def _files_of_module(name: str) -> Iterator[Entry]:
    """All files of a module, or of a package with all that is in it."""
    found = util.find_spec(name)
    assert found is not None, f"{name} was imported before"
    if not found.submodule_search_locations:
        assert found.origin is not None
        yield Path(found.origin).name, Path(found.origin)
    for folder in found.submodule_search_locations or ():
        for file in sorted(Path(folder).rglob("*")):
            relative = PurePosixPath(name, file.relative_to(folder).as_posix())
            if file.is_file() and _is_needed(relative):
                yield str(relative), file


def _files_of(distributions: Iterable[metadata.Distribution]) -> Iterator[Entry]:
    for distribution in distributions:
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            if _is_needed(file) and path.is_file():
                yield file.as_posix(), path


def _is_needed(file: PurePosixPath) -> bool:
    folders = set(file.parts[:-1])
    return not (".." in folders or folders & _NEEDLESS_FOLDERS or file.suffix in _NEEDLESS_SUFFIXES)


def _needed() -> Iterator[metadata.Distribution]:
    """All distributions that this program needs, Spark left out."""
    seen, waiting = {PROGRAM, *_OF_SPARK}, [PROGRAM]
    while waiting:
        for required in sorted(_requirements(waiting.pop()) - seen):
            seen.add(required)
            waiting.append(required)
            yield metadata.distribution(required)


def _requirements(name: str) -> set[str]:
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        raise StartError(f"the Python package {name} is not installed, so it cannot be sent to executors") from None
    wanted = [Requirement(line) for line in lines]
    return {_normalised(item.name) for item in wanted if item.marker is None or item.marker.evaluate({"extra": ""})}


def _distributed_modules() -> set[str]:
    """The names of all modules that others' packages bring."""
    needed = {_normalised(item.metadata["Name"]) for item in _needed()} | _OF_SPARK
    owners = metadata.packages_distributions()
    return {module for module, names in owners.items() if needed & {_normalised(name) for name in names}}


def _normalised(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
