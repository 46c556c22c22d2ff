"""Wheel and source distribution hold what they must, and nothing else."""

from __future__ import annotations

import email
import tomllib

from heliograph import __version__
from tests.package.distributions import ROOT, Distributions, files_below

_PAGES = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}
_PROGRAMS = {
    "heliograph", "test", "pyproject.toml", "requirements-dev.lock", "requirements.lock", "mkdocs.yml", ".dockerignore",
}  # fmt: skip
_FOLDERS = ("bench", "bin", "deploy", "docs", "scripts", "src", "tests")
_OF_THE_BUILDER = {"PKG-INFO", ".gitignore"}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(distributions: Distributions) -> None:
    found = distributions.wheel_files()
    about = {name for name in found if name.startswith(f"heliograph-{__version__}.dist-info/")}
    assert found - about == {f"heliograph/{name}" for name in files_below(ROOT / "src" / "heliograph")}


def test_the_source_distribution_is_a_clone_without_what_lies_about(distributions: Distributions) -> None:
    wanted = {f"{folder}/{name}" for folder in _FOLDERS for name in files_below(ROOT / folder)}
    assert distributions.source_files() - _OF_THE_BUILDER == wanted | _PAGES | _PROGRAMS


def test_the_licence_is_in_both(distributions: Distributions) -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert distributions.wheel_text("licenses/LICENSE") == text
    assert "LICENSE" in distributions.source_files()


def test_the_metadata_says_what_the_project_says(distributions: Distributions) -> None:
    metadata = email.message_from_string(distributions.wheel_text("METADATA"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (metadata["Name"], metadata["Version"]) == ("heliograph", __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert len(metadata.get_all("Requires-Dist", [])) == len(project["dependencies"])
    assert metadata["Project-URL"] is None
    assert str(metadata.get_payload()).startswith("# Heliograph")


def test_all_commands_are_installed(distributions: Distributions) -> None:
    commands = distributions.wheel_text("entry_points.txt").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert commands[0] == "[console_scripts]"
    assert set(commands[1:]) == {f"{name} = {place}" for name, place in project["scripts"].items()}


def test_the_changelog_has_this_version_at_its_top() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0].startswith(f"## {__version__}")
