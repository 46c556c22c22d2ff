"""Canary secrets, given in every way there is, must not come out in any."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.config.mirror_config import load
from heliograph.errors import ConfigError

CANARY = "canary-7f3a9c"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A valid file that holds the canary in a login, passwords, providers and free keys."""
    monkeypatch.setenv("CANARY", CANARY)
    (tmp_path / "secrets.properties").write_text(f"password={CANARY}\n")
    (tmp_path / "password").write_text(CANARY)
    path = tmp_path / "mm2.properties"
    path.write_text(
        f"""
clusters = a, b, c
a.bootstrap.servers = a:1
b.bootstrap.servers = b:1
c.bootstrap.servers = c:1
a->b.enabled = true
security.protocol = SASL_PLAINTEXT
sasl.mechanism = PLAIN
ssl.key.password = {CANARY}
ssl.truststore.password = {CANARY}
ssl.keystore.key = {CANARY}
a.sasl.jaas.config = {PLAIN} username="u" password="{CANARY}";
b.sasl.jaas.config = {PLAIN} username="u" password="${{file:{tmp_path}/secrets.properties:password}}";
c.sasl.jaas.config = {PLAIN} username="u" password="${{directory:{tmp_path}:password}}";
a.ssl.keystore.password = ${{env:CANARY}}
spark.hadoop.fs.s3a.secret.key = {CANARY}
listeners.https.ssl.keystore.password = {CANARY}
listeners.https.ssl.keystore.key = {CANARY}
a->b.transforms = x
a->b.transforms.x.type = MaskPII
a->b.transforms.x.fields = email
a->b.transforms.x.mode = hash
a->b.transforms.x.key = {CANARY}
a->b.consumer.sasl.jaas.config = {PLAIN} username="u" password="{CANARY}";
a.sasl.jass.config = {CANARY}
offset.storage.token = {CANARY}
"""
    )
    return path


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize("command", [["check"], ["explain"], ["explain", "--flow", "a->b"]])
def test_no_output_shows_a_secret(
    file: Path, output: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config", command[0], str(file), *command[1:], "-o", output])
    shown = capsys.readouterr()
    assert not ended.value.code
    assert CANARY not in shown.out + shown.err
    if command[0] == "explain":
        assert "[hidden]" in shown.out
        assert "${env:CANARY}" in shown.out


def test_representations_hide_secrets(file: Path) -> None:
    config = load(file)
    assert CANARY not in repr(config)
    assert CANARY not in str(config.clusters["a"].client_settings("consumer"))
    assert config.spark["spark.hadoop.fs.s3a.secret.key"] == CANARY


@pytest.mark.parametrize(
    "line",
    [
        f"a.sasl.jaas.config = {PLAIN} username=u password={CANARY}",
        f'a.sasl.jaas.config = {PLAIN} username="u" passwort="{CANARY}";',
        f"a.sasl.jaas.config = {CANARY}",
        f"a.sasl.jaas.config = {CANARY} required;",
        "tasks.max = ${env:CANARY}",
        "topics = (${env:CANARY}",
        "a.bootstrap.servers = ${env:CANARY}",
        "replication.policy.separator = /${env:CANARY}",
        "offset-syncs.topic.location = ${env:CANARY}",
        "a->b.transforms.x.predicate = ${env:CANARY}",
        "a.security.protocol = SASL_SSL\na.ssl.truststore.location=x\na.ssl.truststore.type=${env:CANARY}",
        f"b.security.protocol=SSL\nb.ssl.keystore.key={CANARY}\nb.ssl.keystore.certificate.chain={CANARY}",
    ],
)
@pytest.mark.parametrize("output", ["table", "json"])
def test_no_error_shows_a_secret(file: Path, line: str, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", str(file), "-o", output])
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert "error" in shown.out + shown.err
    assert CANARY not in shown.out + shown.err
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert CANARY not in repr(caught.value.problems)
