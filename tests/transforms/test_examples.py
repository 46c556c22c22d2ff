"""The examples of docs/examples, run as their readers would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from heliograph.config.mirror_config import load

PAGE = Path(__file__).parents[2] / "docs" / "transforms.md"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(EXAMPLES), os.environ.get("PYTHONPATH")]))}
FILE = """\
clusters = a, b
a.bootstrap.servers = a:9092
b.bootstrap.servers = b:9092
a->b.enabled = true
a->b.transforms = redact, cards
a->b.transforms.redact.type = redact_transform.Redact
a->b.transforms.redact.fields = iban
a->b.transforms.cards.type = redact_transform.HideCardNumbers
"""


def test_their_own_tests_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 passed" in done.stdout


def test_a_file_can_name_them(tmp_path: Path) -> None:
    (tmp_path / "mm2.properties").write_text(FILE)
    value = {"iban": "DE02", "card": "4111111111111111"}
    (tmp_path / "record.json").write_text(json.dumps({"topic": "orders", "value": value}))
    command = [sys.executable, "-m", "heliograph", "transform", "try", "mm2.properties", "--record", "record.json"]
    done = subprocess.run(
        [*command, "-o", "json"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["records"]
    assert found["after"]["value"] == {"card": "4111********1111"}
    assert found["after"]["headers"] == [{"name": "x-redacted", "value": "1"}]
    assert [stage["class"] for stage in found["stages"]] == ["Redact", "HideCardNumbers"]


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {})
    [settings] = re.findall(r"```properties\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "mm2.properties"
    clusters = "clusters = primary, backup\nprimary.bootstrap.servers = a:9092\nbackup.bootstrap.servers = b:9092\n"
    file.write_text(f"{clusters}primary->backup.enabled = true\n{settings}")
    flow = load(file).flow("primary->backup")
    assert flow is not None
    assert [stage.name for stage in flow.transforms.build().stages] == ["tag", "mask", "skipTests"]
