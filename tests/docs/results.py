"""What the commands of the pages are shown for, as far as one can see it: what they print, and what has changed then.

Names in braces are those of the live stage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.docs.pages import Command
from tests.docs.stages import HELIOGRAPH


@dataclass(frozen=True)
class Result:
    """Texts that must be printed, or nothing at all; the state of the source connector then; a file that is there."""

    printed: tuple[str, ...]
    state: str = ""
    file: str = ""
    times: int = 0  # how often each text is printed, where that is known


def _prints(*texts: str, file: str = "", times: int = 0) -> Result:
    return Result(texts, file=file, times=times)


def _is_then(state: str) -> Result:
    return Result((), state)


_FILE = r"mm2\.properties"
_URL = r"(http://)?localhost:8083"
_SOURCE = rf"{_URL}/connectors/MirrorSourceConnector"
_PATCH = r"curl -X PATCH"

# By patterns for the whole text of a command, each of which fits exactly one of them.
RESULTS: Mapping[str, Result] = {
    rf"{HELIOGRAPH}config check {_FILE}": _prints("{file}: ok", "flow {flow}"),
    rf"{HELIOGRAPH}config explain {_FILE}( --flow .*)?": _prints("topics", "{topic}", "default"),
    rf"{HELIOGRAPH}config reference --scope source": _prints("topics.exclude", "Topics to leave out"),
    rf"{HELIOGRAPH}transform list": _prints("MaskPII", "what it does"),
    rf"{HELIOGRAPH}transform list MaskPII": _prints("MaskPII (transform): ", "mask.char"),
    rf"{HELIOGRAPH}doctor": _prints("Python", "Java", "packages"),
    rf"{HELIOGRAPH}doctor {_FILE}": _prints("Java", "{source}", "{target}"),
    rf"{HELIOGRAPH}doctor {_FILE} --bundle .*": _prints("Java", "{source}", "{target}", file="help.tar.gz"),
    rf"{HELIOGRAPH}version": _prints("heliograph", "pyspark", "java"),
    rf"{HELIOGRAPH}token grafana --role viewer": _prints("rest.token.grafana = viewer:sha256:", "Bearer hlg_"),
    rf"{HELIOGRAPH}token alice --role operator --password": _prints("rest.user.alice = operator:scrypt:"),
    rf"{HELIOGRAPH}check {_FILE}": _prints("{flow}: ok"),
    rf"{HELIOGRAPH}plan {_FILE}": _prints("{flow}", "{copy}"),
    rf"{HELIOGRAPH}status {_FILE}( --watch)?": _prints("{flow}", "up to date"),
    rf"{HELIOGRAPH}lag {_FILE} -o json": _prints('"flow": "{flow}"', '"topic": "{topic}"', '"lag_records": 0'),
    rf"{HELIOGRAPH}lag {_FILE}": _prints("{flow}", "{topic}-0", "{copy}-0"),
    rf"{HELIOGRAPH}verify {_FILE}.*": _prints("{flow}: equal: "),
    rf"{HELIOGRAPH}offsets translate {_FILE} --flow '[^']+'( --group billing)?": _prints(
        "{group}", "{topic}", "{copy}"
    ),
    rf"{HELIOGRAPH}offsets translate {_FILE} --flow '[^']+' --offset orders:.*": _prints("{topic}", "{copy}"),
    rf"{HELIOGRAPH}transform try {_FILE} --flow '[^']+' --topic orders": _prints("passed to {copy}-", times=1),
    rf"{HELIOGRAPH}transform try {_FILE} --flow '[^']+' --topic orders --count 20": _prints(
        "passed to {copy}-", times=20
    ),
    rf"{HELIOGRAPH}transform try {_FILE} --flow '[^']+' --topic orders( --partition 0)? --offset 1500": _prints(
        "{topic}-0 offset 1500: "
    ),
    rf"{HELIOGRAPH}transform try {_FILE} --flow '[^']+' --topic orders --partition 3 --offset 1500": _prints(
        "{topic}-3 offset 1500: "
    ),
    rf"{HELIOGRAPH}transform try {_FILE} --flow '[^']+' --record order\.json": _prints(
        "orders-0 offset 0: ", '"id": 1'
    ),
    rf"{HELIOGRAPH}monitor {_FILE}": _prints("{flow}"),
    rf"{HELIOGRAPH}monitor {_FILE} --once --threshold 5000 -o json": _prints('"{flow}"', '"{topic}"', '"alerts": []'),
    rf"curl -s {_URL}/connectors": _prints('"MirrorSourceConnector"', '"MirrorCheckpointConnector"'),
    rf"curl -s {_SOURCE}/status": _prints('"name":"MirrorSourceConnector"', '"state":"RUNNING"'),
    rf"curl -X PUT {_SOURCE}/pause": _is_then("PAUSED"),
    rf"curl -X PUT {_SOURCE}/resume": _is_then("RUNNING"),
    rf"curl -X PUT {_SOURCE}/stop": _is_then("STOPPED"),
    rf"{_PATCH} {_SOURCE}/config .*\"topics\".*": _prints('"topics":"{topic}, payments"'),
    rf"{_PATCH} {_SOURCE}/config .*\"on\.data\.loss\".*": _prints('"on.data.loss":"continue"'),
    rf"{_PATCH} {_SOURCE}/offsets .*": _prints("The offsets for this connector have been altered successfully"),
    rf"curl -s -X POST {_URL}/api/v1/operations .*\"dry_run\": true.*": _prints(
        '"operation":"switchover"', '"flow":"{flow}"', '"can_begin":true'
    ),
    rf"{HELIOGRAPH}failover {_FILE} .*--dry-run": _prints("dry run of failover {flow}: it can begin"),
    rf"{HELIOGRAPH}switchover {_FILE} .*--dry-run": _prints("dry run of switchover {flow}: it can begin"),
    rf"{HELIOGRAPH}failback {_FILE} .*--dry-run": _prints("dry run of failback {flow}: it can begin"),
    rf"{HELIOGRAPH}switchover {_FILE} ((?!--dry-run|--undo).)*": _prints("switchover {flow}: done in ", "{group}"),
    rf"{HELIOGRAPH}switchover {_FILE} .*--undo": _prints("switchover {flow}: put back in "),
    rf"{HELIOGRAPH}failback {_FILE} ((?!--dry-run|--tail).)*": _prints("failback {flow}: done in ", "{group}"),
    rf"{HELIOGRAPH}failback {_FILE} .*--tail tail\.jsonl --yes": _prints("failback {flow}: done in ", "{group}"),
    rf"{HELIOGRAPH}failover {_FILE} ((?!--dry-run).)*": _prints("failover {flow}: done in ", "{group}"),
}


def of(command: Command) -> list[Result]:
    """What a command of a page should bring about; exactly one, or somebody has forgotten it here."""
    return [result for pattern, result in RESULTS.items() if re.fullmatch(pattern, command.text)]
