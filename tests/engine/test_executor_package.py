"""What is sent to executors."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from heliograph.engine import executor_package
from heliograph.engine.executor_package import write_program, write_zip
from heliograph.policy.plugins import PluginError, find_class, loaded_modules
from heliograph.policy.replication import ReplicationPolicy

OWN_POLICY = """
from heliograph.policy.replication import IdentityReplicationPolicy

class Ours(IdentityReplicationPolicy):
    pass
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The module of a user, with a module beside it."""
    package = tmp_path / "user_code" / "policies_of_ours"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "naming.py").write_text(OWN_POLICY)
    monkeypatch.syspath_prepend(str(package.parent))
    return "policies_of_ours.naming"


def test_the_program_brings_the_users_modules_along(own_module: str, tmp_path: Path) -> None:
    find_class(f"{own_module}.Ours", ReplicationPolicy)
    assert own_module in loaded_modules()
    path = tmp_path / "program.zip"
    write_program(path, {own_module, "json", "pyarrow.compute", "pyspark.sql", "heliograph.errors"})
    names = set(zipfile.ZipFile(path).namelist())
    assert {"policies_of_ours/__init__.py", "policies_of_ours/naming.py", "heliograph/errors.py"} <= names
    assert {name.partition("/")[0] for name in names} == {"heliograph", "policies_of_ours"}


def test_a_single_file_is_a_module_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lonely_module.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "program.zip"
    write_program(path, ["lonely_module"])
    assert "lonely_module.py" in zipfile.ZipFile(path).namelist()


def test_a_class_that_is_not_found_sends_nothing() -> None:
    with pytest.raises(PluginError):
        find_class("no_such_module.Ours", ReplicationPolicy)
    assert "no_such_module" not in loaded_modules()


def test_what_lanes_import_is_in_the_two_zips(tmp_path: Path) -> None:
    """All modules that a lane loads come from the program, its dependencies, Spark, or Python itself."""
    code = "import sys, heliograph.engine.lane, heliograph.engine.transforming, heliograph.engine.tables.handover"
    tell = "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)), sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", f"{code}\n{tell}"], capture_output=True, text=True, check=True)
    write_program(tmp_path / "program.zip", ())
    ours = set(zipfile.ZipFile(tmp_path / "program.zip").namelist())
    theirs = {str(path) for _, path in executor_package._files_of(executor_package._needed())}
    for file in ran.stdout.split():
        if "/src/heliograph/" in file:
            assert f"heliograph/{file.rpartition('/src/heliograph/')[2]}" in ours
        elif "/site-packages/" in file and "/pyspark/" not in file and "/py4j/" not in file:
            assert file in theirs


def test_a_zip_that_could_not_be_finished_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "some.zip"
    with pytest.raises(FileNotFoundError):
        write_zip(path, [("there", Path(__file__)), ("missing", tmp_path / "missing")])
    assert os.listdir(tmp_path) == []


def test_needs_are_followed_to_the_end_and_spark_is_left_out() -> None:
    names = {item.metadata["Name"].lower() for item in executor_package._needed()}
    assert {"pyarrow", "kafka-python", "aiokafka", "async-timeout", "typing_extensions"} <= names
    assert not {"pyspark", "py4j", "heliograph", "pytest"} & names
