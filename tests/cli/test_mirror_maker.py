"""The old commands' own flags; the mirror behind them is tested with the flows."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.cli import mirror_maker
from heliograph.cli.main import connect_mirror_maker, main, mirror_maker_1
from heliograph.config.mirror_config import MirrorConfig


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "c.properties").write_text("bootstrap.servers=s:1\ngroup.id=old\n")
    (tmp_path / "p.properties").write_text("bootstrap.servers=t:1\n")
    return ["--consumer.config", str(tmp_path / "c.properties"), "--producer.config", str(tmp_path / "p.properties")]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["kafka-mirror-maker", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[MirrorConfig]:
    """What would be kept running, instead of being started."""
    configs: list[MirrorConfig] = []
    monkeypatch.setattr(mirror_maker, "supervise", lambda read, _: configs.append(read()))
    return configs


@pytest.mark.parametrize("include", ["--whitelist", "--include"])
def test_every_flag_of_mirror_maker_1_is_taken(
    files: list[str], started: list[MirrorConfig], include: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--num.streams", "4", "--abort.on.send.failure", "false", "--offset.commit.interval.ms", "5000")
    assert run(*files, include, "orders.*,events.*", *flags, "--new.consumer") == 0
    [config] = started
    [flow] = config.flows
    assert flow.setting("topics").text == "orders.*, events.*"
    assert (flow.get("tasks.max"), flow.get("progress.group.interval.seconds")) == (4, 5)
    told = capsys.readouterr().err
    assert "group old tells where to begin" in told
    assert "Nothing is dropped, whatever --abort.on.send.failure says" in told


@pytest.mark.parametrize(
    ("flag", "advice"),
    [
        ("--message.handler", "docs/transforms.md"),
        ("--message.handler.args", "docs/transforms.md"),
        ("--rebalance.listener", "there are no rebalances"),
        ("--rebalance.listener.args", "there are no rebalances"),
    ],
)
def test_java_classes_are_refused_with_advice(
    files: list[str], started: list[MirrorConfig], flag: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*files, "--whitelist", "orders", flag, "com.example.Mine") == 2
    assert advice in " ".join(capsys.readouterr().err.replace("│", "").split())
    assert started == []


@pytest.mark.parametrize(
    "flags", [[], ["--whitelist", " "], ["--whitelist", "a", "--abort.on.send.failure", "perhaps"]]
)
def test_a_call_that_lacks_something_is_refused(
    files: list[str], started: list[MirrorConfig], flags: list[str]
) -> None:
    assert run(*files, *flags) == 2
    assert started == []


def test_both_files_are_needed(files: list[str], started: list[MirrorConfig], tmp_path: Path) -> None:
    assert run(*files[:2], "--whitelist", "a") == 2
    assert run(*files[:3], str(tmp_path / "none"), "--whitelist", "a") == 2
    assert started == []


def test_the_names_of_old_lead_to_the_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for entry, usage in ((connect_mirror_maker, "heliograph run"), (mirror_maker_1, "heliograph kafka-mirror-maker")):
        monkeypatch.setattr("sys.argv", ["program", "--help"])
        with pytest.raises(SystemExit) as ended:
            entry()
        assert ended.value.code == 0
        assert f"Usage: {usage} " in capsys.readouterr().out


def test_mirror_maker_2_takes_its_own_flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(
        "clusters=a,b,c\na.bootstrap.servers=a:1\nb.bootstrap.servers=b:1\nc.bootstrap.servers=c:1\n"
        "a->b.enabled=true\nb->a.enabled=true\n"
    )
    seen: list[list[str]] = []
    monkeypatch.setattr(
        "heliograph.cli.run.supervise",
        lambda read, _: seen.append([flow.name for flow in read().flows if flow.enabled]),
    )
    monkeypatch.setattr("sys.argv", ["connect-mirror-maker", str(file), "--clusters", "b", "c"])
    with pytest.raises(SystemExit) as ended:
        connect_mirror_maker()
    assert ended.value.code == 0
    assert seen == [["a->b"]]
