"""Who runs each command of the documentation: the live stage here, another test, or nobody on this machine.

All patterns are for the whole text of a command, variables and all. A command must be in exactly one class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tests.docs.pages import Command

HELIOGRAPH = r"(\./)?heliograph "

# Run by tests/docs/test_live.py, in this order: looking first, then moving.
RUN_HERE: tuple[str, ...] = (
    rf"{HELIOGRAPH}config (check|explain|reference)( .+)",
    rf"{HELIOGRAPH}transform list.*",
    rf"{HELIOGRAPH}(token|version|doctor).*",
    rf"({HELIOGRAPH}run|(bin/)?connect-mirror-maker) mm2\.properties((?!--master).)*",
    rf"{HELIOGRAPH}(check|plan|status|lag|verify) .*",
    rf"{HELIOGRAPH}offsets .*",
    rf"{HELIOGRAPH}transform try .*",
    rf"{HELIOGRAPH}monitor ((?!--alertmanager|--webhook|--pushgateway).)*",
    r"curl ((?!\"confirm\"|heliograph ).)*",
    rf"{HELIOGRAPH}(switchover|failover) .*--dry-run.*",
    rf"{HELIOGRAPH}switchover ((?!--dry-run|--undo).)*",
    rf"{HELIOGRAPH}switchover .*--undo.*",
    rf"{HELIOGRAPH}failback .*--dry-run.*",
    rf"{HELIOGRAPH}failback ((?!--dry-run).)*",
    rf"{HELIOGRAPH}failover ((?!--dry-run).)*",
)

# They take minutes, clusters of their own, or something to talk to, which these tests give them.
RUN_ELSEWHERE: Mapping[str, str] = {
    r"\./test.*": ".ci/run",
    rf"{HELIOGRAPH}demo.*": "tests/demo/test_demo.py",
    rf"{HELIOGRAPH}drill .*--dry-run.*": "tests/cli/test_drill.py",
    rf"{HELIOGRAPH}drill mm2\.properties ((?!--dry-run).)*": "tests/recovery/test_drill.py",
    rf"{HELIOGRAPH}drill --for-real": "tests/recovery/test_drill_for_real.py",
    rf"(curl .* \| )?{HELIOGRAPH}config import .*": "tests/cli/test_imports.py",
    rf"{HELIOGRAPH}config explain": "tests/cli/test_variables.py",
    r"(bin/)?kafka-mirror-maker .*": "tests/flows/test_mirror_maker_1.py",
    rf"{HELIOGRAPH}run .*--master spark:.*": "tests/spark_cluster/test_two_drivers.py",
    rf"{HELIOGRAPH}package .*": "tests/spark_cluster/test_two_drivers.py",
    r"spark-submit --master spark:.*": "tests/spark_cluster/test_two_drivers.py",
    rf"{HELIOGRAPH}--install-completion": "tests/cli/test_completion.py",
    r"man heliograph": "tests/cli/test_manual.py",
    rf"{HELIOGRAPH}conflicts .*": "tests/cli/test_conflicts.py",
    rf"{HELIOGRAPH}monitor .*--(alertmanager|webhook|pushgateway) .*": "tests/cli/test_monitor.py",
    r"curl .*\"confirm\".*": "tests/control/rest_api/test_operations.py",
    r"sh [a-z-]+\.sh": "tests/recovery/test_hooks_page.py",
    r"python failover\.py .*": "tests/oracle/test_client.py",
    r"PYTHONPATH=docs/examples \./heliograph config check .*": "tests/policy/test_examples.py",
    r"PYTHONPATH=docs/examples (python -m pytest|\./heliograph transform try) .*": "tests/transforms/test_examples.py",
}

NEEDS_WHAT_IS_NOT_HERE: Mapping[str, str] = {
    r"docker .*": "a container engine",
    r"helm .*": "helm",
    r"kubectl .*": "a Kubernetes cluster",
    r"(systemctl|journalctl) .*": "systemd as the first process",
    r"spark-submit --master yarn .*": "a YARN cluster",
    rf"{HELIOGRAPH}run .*--master k8s:.*": "a Kubernetes cluster",
    r"pip .*": "an environment that may be changed",
    rf"{HELIOGRAPH}bench.*": "a machine of its own for many minutes; what it printed is in bench/RESULTS.md",
}


def classes(command: Command) -> list[str]:
    """The patterns that a command fits, of all classes."""
    patterns = (*RUN_HERE, *RUN_ELSEWHERE, *NEEDS_WHAT_IS_NOT_HERE)
    return [pattern for pattern in patterns if re.fullmatch(pattern, command.text)]


def run_here(commands: Iterable[Command]) -> list[Command]:
    """What the live stage runs, in the order in which it can be run: each call of heliograph once.

    Requests are all made, page by page: what one of them pauses, a later one resumes.
    """
    everything, chosen, seen = list(commands), list[Command](), set[str]()
    for pattern in RUN_HERE:
        for command in everything:
            if re.fullmatch(pattern, command.text) and (command.program == "curl" or _meaning(command) not in seen):
                seen.add(_meaning(command))
                chosen.append(command)
    return chosen


def _meaning(command: Command) -> str:
    """The same for calls that differ in the name of the flow only, or in whether they are asked if they are sure."""
    return re.sub(r"\w+->\w+", "A->B", " ".join(command.words)).replace(" --yes", "")
