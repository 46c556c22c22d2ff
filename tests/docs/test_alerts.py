"""The page about operations says what to do about every alert."""

from __future__ import annotations

import re

import yaml

from tests.docs.pages import ROOT

RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "heliograph-rules.yml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_every_alert_has_its_line_and_no_line_is_about_another() -> None:
    alerts = {rule["alert"] for group in RULES["groups"] for rule in group["rules"] if "alert" in rule}
    lines = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith(("| `Heliograph", "| `MirrorMonitor"))]
    assert {name for line in lines for name in re.findall(r"`(\w+)`", line)} == alerts
