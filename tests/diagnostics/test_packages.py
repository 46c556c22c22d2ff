"""Installed packages against what is asked for."""

from __future__ import annotations

from importlib import metadata

from heliograph.diagnostics.observation import Verdict
from heliograph.diagnostics.packages import check_packages, required

WANTED = ["pyspark==4.3.0", "lz4>=4.4", "colorama>=1; sys_platform == 'win32'"]


def test_fitting_packages_are_one_line() -> None:
    [seen] = check_packages(WANTED, {"pyspark": "4.3.0", "lz4": "4.4.5"}.__getitem__)
    assert (seen.verdict, seen.seen) == (Verdict.OK, "all 2 of the needed versions")


def test_each_misfit_is_told() -> None:
    seen = list(check_packages(WANTED, {"pyspark": "4.2.0", "lz4": ""}.__getitem__))
    assert [(item.subject, item.verdict, item.seen) for item in seen] == [
        ("pyspark", Verdict.FAILED, "is 4.2.0, needed is ==4.3.0"),
        ("lz4", Verdict.FAILED, "is not installed"),
    ]
    assert all(item.advice for item in seen)


def test_a_version_that_is_none_does_not_fit() -> None:
    [seen] = check_packages(["lz4>=4"], lambda _: "unknown")
    assert seen.verdict is Verdict.FAILED


def test_without_requirements_nothing_is_claimed() -> None:
    [seen] = check_packages([])
    assert seen.verdict is Verdict.UNKNOWN


def test_our_own_requirements_are_read_from_the_installed_package() -> None:
    assert required() == (metadata.requires("heliograph") or [])
    assert any(text.startswith("pyspark") for text in required())
