"""`heliograph monitor` on real clusters."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from heliograph.cli.monitor import monitor
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from tests.monitor.receivers import Hook, running_hook, running_pushgateway
from tests.monitor.scene import Scene, make_scene
from tests.waiting import wait_until

pytestmark = pytest.mark.kafka

_COMMAND = [sys.executable, "-c", "import typer; from heliograph.cli.monitor import monitor; typer.run(monitor)"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, primary: EmbeddedCluster, backup: EmbeddedCluster) -> Scene:
    """A flow with two topics, 8 and 25 records behind."""
    scene = make_scene(tmp_path_factory.mktemp("monitor"), primary, backup)
    small = scene.source_topic("small", 5, 5)
    scene.target_topic(small, 0, 2)
    scene.source_topic("large", 25)
    return scene


@pytest.fixture
def hook() -> Iterator[Hook]:
    with running_hook() as hook:
        yield hook


def run(*arguments: str) -> int:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(monitor)
    with pytest.raises(SystemExit) as ended:
        app(list(arguments))
    return int(ended.value.code or 0)


def once(capsys: pytest.CaptureFixture[str], scene: Scene, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(str(scene.file), "--once", "-o", "json", *arguments)
    return code, json.loads(capsys.readouterr().out)


def test_one_round_tells_every_partition(capsys: pytest.CaptureFixture[str], scene: Scene) -> None:
    code, result = once(capsys, scene)

    (flow,) = result["flows"]
    assert code == 0
    assert (flow["flow"], flow["up"], flow["latency_ms"], flow["troubles"]) == (f"{scene.alias}->there", True, None, [])
    large, small = flow["topics"]
    assert (small["lag_records"], small["method"]) == (8, "ends")
    assert [item["lag_records"] for item in small["partitions"]] == [5, 3]
    assert (large["lag_records"], large["method"], large["partitions"][0]["end"]) == (25, "absent", 25)
    assert result["alerts"] == []


def test_a_threshold_that_is_exceeded_ends_with_code_4(capsys: pytest.CaptureFixture[str], scene: Scene) -> None:
    code, result = once(capsys, scene, "--threshold", "10")
    assert code == 4
    assert [(item["topic"], item["severity"]) for item in result["alerts"]] == [(f"{scene.alias}-large", "critical")]
    assert once(capsys, scene, "--threshold", "25")[0] == 0
    assert once(capsys, scene, "--threshold", "10", "--topics", ".*-small, other")[0] == 0


def test_a_latency_that_should_be_watched_but_is_unknown_ends_with_code_4(
    capsys: pytest.CaptureFixture[str], scene: Scene
) -> None:
    assert once(capsys, scene, "--latency-threshold-ms", "500")[0] == 4


def test_a_cluster_that_does_not_answer_ends_with_code_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scene: Scene, hook: Hook
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(scene.file.read_text().replace(scene.source, f"127.0.0.1:{free_ports(1)[0]}"))

    code = run(str(file), "--once", "--webhook", hook.url)

    shown = capsys.readouterr().out
    assert code == 3
    assert f"cannot look at {scene.alias}: " in shown
    assert "0 records behind" not in shown
    assert [(item["severity"], item["status"], item["title"]) for item in hook.received] == [
        ("critical", "firing", "MirrorMaker Monitor Cannot Look")
    ]


def test_what_is_not_delivered_ends_with_code_1_and_shows_no_secret(
    capsys: pytest.CaptureFixture[str], scene: Scene
) -> None:
    (port,) = free_ports(1)
    url = f"http://ann:pa55word@127.0.0.1:{port}/token-123"
    code = run(str(scene.file), "--once", "--pushgateway", url, "--webhook", url, "--alertmanager", url)
    shown = "".join(capsys.readouterr())
    assert code == 1
    assert f"not delivered to Pushgateway http://127.0.0.1:{port}" in shown
    assert not any(secret in shown for secret in ("ann", "pa55word", "token-123"))


def test_the_table_shows_the_furthest_behind_first(capsys: pytest.CaptureFixture[str], scene: Scene) -> None:
    assert run(str(scene.file), "--once") == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{scene.alias}->there: 33 records behind, latency unknown" in lines
    large, small = (line.split() for line in lines if "-large" in line or "-small" in line)
    assert large[1:] == [f"{scene.alias}-large", "25", "ok", "absent", "0:", "25"]
    assert small[1:] == [f"{scene.alias}-small", "8", "ok", "ends", "0:", "5,", "1:", "3"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--topics", "a("], "a("),
        (["--flow", "x->y"], "there is no flow"),
        (["--webhook", "s3cret"], "http://host:port"),
    ],
)
def test_wrong_options_end_with_code_2(
    capsys: pytest.CaptureFixture[str], scene: Scene, arguments: list[str], reason: str
) -> None:
    assert run(str(scene.file), "--once", *arguments) == 2
    shown = capsys.readouterr().err
    assert reason in shown
    assert "s3cret" not in shown


def test_a_flow_that_is_not_enabled_cannot_be_watched(capsys: pytest.CaptureFixture[str], scene: Scene) -> None:
    assert run(str(scene.file), "--flow", f"there->{scene.alias}", "--once") == 2
    assert "nothing to watch" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order_and_takes_the_metrics_back(
    scene: Scene, tmp_path: Path, number: signal.Signals
) -> None:
    import httpx

    printed = tmp_path / "printed.yaml"
    with (
        running_pushgateway(tmp_path) as url,
        printed.open("w") as out,
        httpx.Client(trust_env=False, timeout=30) as client,
    ):
        options = [str(scene.file), "--interval", "0.2", "-o", "yaml", "--pushgateway", url]
        with subprocess.Popen([*_COMMAND, *options], stdout=out, stderr=subprocess.PIPE) as process:
            wait_until(lambda: printed.read_text().count("---") >= 2, "two rounds")
            assert f'source="{scene.alias}"' in client.get(f"{url}/metrics").text
            process.send_signal(number)
            errors = process.communicate(timeout=15)[1]
        assert f'source="{scene.alias}"' not in client.get(f"{url}/metrics").text
    assert (process.returncode, errors) == (0, b"")
    rounds = list(yaml.safe_load_all(printed.read_text()))
    assert len(rounds) >= 2
    assert all(item["flows"][0]["up"] for item in rounds)


def test_on_a_terminal_the_table_is_drawn_in_place(scene: Scene) -> None:
    ours, theirs = pty.openpty()
    seen = b""
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "30"}
    command = [*_COMMAND, str(scene.file), "--interval", "0.2"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        while seen.count(b"33 records behind") < 3:
            seen += os.read(ours, 65_536)
        process.send_signal(signal.SIGINT)
        while chunk := _read(ours):
            seen += chunk
        assert process.wait(15) == 0
    os.close(ours)
    assert b"\x1b[1A" in seen  # the cursor goes up again
    assert b"Traceback" not in seen


def _read(terminal: int) -> bytes:
    """The end of a terminal whose program has gone is an error on Linux."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""
