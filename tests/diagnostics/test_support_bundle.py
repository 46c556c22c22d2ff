"""The archive for those who shall help: complete, and without any secret, wherever one was put."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.config.secret import Secret
from heliograph.diagnostics.cluster_checks import read_file
from heliograph.diagnostics.examination import Examination
from heliograph.diagnostics.observation import Observation, Verdict
from heliograph.diagnostics.support_bundle import Sources, support_bundle
from heliograph.errors import StartError
from tests.control.rest.serving import BASE, TOKENS, serving, token_of

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
CANARIES = [f"canary{number:02d}-5be1" for number in range(17)]


def members(file: Path) -> dict[str, bytes]:
    """All files of an archive, by name."""
    with tarfile.open(file) as archive:
        return {item.name: archive.extractfile(item).read() for item in archive.getmembers()}  # type: ignore[union-attr]


def file_with_canaries(folder: Path, canaries: Iterator[str]) -> str:
    """Lines that hold a secret of every kind."""
    (folder / "vault.properties").write_text(f"password={next(canaries)}\n")
    (folder / "key").write_text(f"{next(canaries)}\n")
    return f"""
a.security.protocol = SASL_PLAINTEXT
a.sasl.mechanism = PLAIN
a.sasl.jaas.config = {LOGIN} username="u" pin="{next(canaries)}" password="{next(canaries)}";
b.security.protocol = SASL_PLAINTEXT
b.sasl.mechanism = PLAIN
b.sasl.jaas.config = {LOGIN} username="u" password="${{file:{folder}/vault.properties:password}}";
ssl.truststore.password = {next(canaries)}
a->b.source.consumer.ssl.key.password = ${{directory:{folder}:key}}
a->b.target.producer.ssl.keystore.password = ${{env:STORE_PASSWORD}}
hooks.told.when = after
hooks.told.url = https://caller:{next(canaries)}@hooks.example/x
spark.hadoop.fs.s3a.secret.key = {next(canaries)}
"""


@pytest.mark.parametrize("with_mirror", [True, False], ids=["running", "stopped"])
def test_no_secret_of_any_kind_is_in_any_byte(tmp_path: Path, with_mirror: bool) -> None:
    canaries = iter(CANARIES)
    environment = {
        "STORE_PASSWORD": next(canaries),
        "DATABASE": f"postgres://me:{next(canaries)}@db/x",
        "HELIOGRAPH_PROPERTIES": f"a.ssl.key.password = {next(canaries)}",
        "LANG": "C",
    }
    text = file_with_canaries(tmp_path, canaries)
    file = tmp_path / "mm2.properties"
    log = tmp_path / "mirror.log"
    with serving(tmp_path, TOKENS) as served:
        file.write_text(BASE + text)
        config = load(file, environment=environment)
        told = Observation("cluster a", Verdict.FAILED, f"login refused for {CANARIES[5]}")
        log.write_text("".join(_log_lines()))
        address = served.address if with_mirror else "http://127.0.0.1:1"
        sources = Sources([log], address, Secret(token_of("operator")), environment)
        support_bundle(Examination((told,), config), sources).write(tmp_path / "out.tar.gz")
    found = members(tmp_path / "out.tar.gz")
    everything = b"\n".join([*found.values(), *(name.encode() for name in found)])
    leaked = [canary for canary in (*CANARIES, token_of("operator")) if canary.encode() in everything]
    assert leaked == []
    assert b"login refused for [hidden]" in everything
    assert "heliograph-doctor/config.json" in found
    assert ("heliograph-doctor/mirror/threads.json" in found) is with_mirror
    assert ("heliograph-doctor/mirror/unanswered.json" in found) is not with_mirror


def _log_lines() -> Iterator[str]:
    """Each canary once, as logs have them: bare where the configuration knows it, else in a telling place."""
    known, unknown = CANARIES[3:10], CANARIES[10:]
    yield from (f"refused: {canary}\n" for canary in (*known, CANARIES[0]))
    shapes = (
        "Authorization: Bearer {}", "https://u:{}@h/", 'password="{}"', '{{"secret": "{}"}}', "token={}", "hlg_{}",
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    )  # fmt: skip
    yield from (shape.format(canary) + "\n" for shape, canary in zip(shapes, unknown, strict=True))
    yield "Basic " + base64.b64encode(f"u:{CANARIES[3]}".encode()).decode() + "\n"


def test_the_manifest_names_every_file_with_its_checksum(tmp_path: Path) -> None:
    seen = Observation("Java", Verdict.OK, "17")
    support_bundle(Examination((seen,)), Sources(environment={"A": "x", "LANG": "C"})).write(tmp_path / "b.tar.gz")
    found = members(tmp_path / "b.tar.gz")
    manifest = json.loads(found.pop("heliograph-doctor/manifest.json"))
    listed = {f"heliograph-doctor/{item['name']}": item["sha256"] for item in manifest["files"]}
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}
    assert json.loads(found["heliograph-doctor/environment.json"]) == {"A": "[hidden]", "LANG": "C"}
    assert json.loads(found["heliograph-doctor/doctor.json"])[0]["verdict"] == "ok"


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "b.tar.gz"
    support_bundle(Examination(()), Sources(environment={})).write(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["b.tar.gz"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="give --bundle another place"):
        support_bundle(Examination(()), Sources(environment={})).write(tmp_path / "no" / "b.tar.gz")


def test_a_log_that_cannot_be_read_is_told_and_of_a_long_one_the_end_is_taken(tmp_path: Path) -> None:
    long = tmp_path / "long.log"
    long.write_text("".join(f"line {number}\n" for number in range(6000)))
    sources = Sources([long, tmp_path / "none.log"], environment={})
    support_bundle(Examination(()), sources).write(tmp_path / "b.tar.gz")
    found = members(tmp_path / "b.tar.gz")
    lines = found["heliograph-doctor/logs/1-long.log"].decode().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("line 1000", "line 5999", 5000)
    assert b"cannot be read" in found["heliograph-doctor/logs/2-none.log"]


def test_of_a_file_that_is_wrong_only_the_problems_are_told(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"clusters = a\na.ssl.key.password = {CANARIES[0]}\nxyz\n")
    config, seen = read_file(file)
    support_bundle(Examination(seen, config), Sources(environment={})).write(tmp_path / "b.tar.gz")
    found = members(tmp_path / "b.tar.gz")
    assert CANARIES[0].encode() not in b"".join(found.values())
    assert "heliograph-doctor/config.json" not in found
