"""Canary secrets, given in every way there is, come out in no answer, log line or audit."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from heliograph.config.credential_hash import PasswordHash, TokenHash
from tests.control.rest.serving import LOOPBACK, Lines, serving
from tests.control.rest.test_roles import EXPECTED
from tests.control.rest.test_tls import PASSWORD, pkcs12_of
from tests.embedded.certificates import Authority

CANARY = "canary-90e1f"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
NAMES = {
    "{connector}": "MirrorSourceConnector",
    "{name}": "a->b",
    "{source}": "a",
    "{target}": "b",
    "{task}": "0",
    "{plugin}": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "{logger}": "root",
    "{path:path}": "nothing",
}


def text_with_canaries(folder: Path) -> tuple[str, list[str]]:
    """Lines that hold secrets, and all that must not come out."""
    store = pkcs12_of(Authority(folder, "root").issue("server", ["127.0.0.1"]))
    user, token = PasswordHash.of(CANARY), TokenHash.of(CANARY)
    text = f"""
a.security.protocol = SASL_PLAINTEXT
a.sasl.mechanism = PLAIN
a.sasl.jaas.config = {LOGIN} username="u" password="{CANARY}";
a->b.source.consumer.sasl.jaas.config = {LOGIN} username="u" password="{CANARY}";
a->b.target.producer.ssl.key.password = {CANARY}
ssl.truststore.password = {CANARY}
listeners.https.ssl.keystore.type = PKCS12
listeners.https.ssl.keystore.location = {store}
listeners.https.ssl.keystore.password = {PASSWORD}
rest.token.ci = admin:{token}
rest.user.al = admin:{user}
rest.audit.file = {folder}/audit.jsonl
"""
    return text, [CANARY, PASSWORD, token.digits, user.key.hex()]


def test_secrets_come_out_nowhere(tmp_path: Path, audited: Lines, caplog: pytest.LogCaptureFixture) -> None:
    text, secrets = text_with_canaries(tmp_path)
    own = {"Authorization": f"Bearer {CANARY}"}
    shown: list[str] = []
    with caplog.at_level(logging.DEBUG), serving(tmp_path, text, [LOOPBACK, "https://127.0.0.1:0"]) as served:
        for route in EXPECTED:
            method, path = route.split(" ")
            if method != "GET":
                continue
            for name, value in NAMES.items():
                path = path.replace(name, value)
            answer = served.request("GET", path, headers=own)
            assert answer.status_code not in (401, 403, 500), path
            shown += [answer.text, str(answer.headers)]
        for body in ({"sasl.jaas.config": f"{LOGIN} {CANARY};"}, {"ssl.key.password": CANARY}):
            answer = served.request("PATCH", "/connectors/MirrorSourceConnector/config", headers=own, json=body)
            assert answer.status_code == 400
            shown.append(answer.text)
        shown.append(served.request("GET", "/connectors", headers={"Authorization": f"Bearer {PASSWORD}"}).text)
    shown += [*audited.texts, caplog.text, (tmp_path / "audit.jsonl").read_text()]
    found = {secret: text for text in shown for secret in secrets if secret in text}
    assert found == {}
