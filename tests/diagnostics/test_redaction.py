"""Secrets that are known, in every spelling, and secrets that nobody told us of."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from heliograph.config.secret import HIDDEN, Secret
from heliograph.diagnostics.redaction import Redactor, environment_secrets

CANARY = "canary-7f3a51"
ODD = 'cänary "7f\\3a" 51/+'


@pytest.mark.parametrize(
    "spelling",
    [ODD, json.dumps(ODD)[1:-1], json.dumps(ODD, ensure_ascii=False)[1:-1], quote(ODD), quote(ODD, safe="")],
)
def test_a_known_secret_is_hidden_however_it_is_spelt(spelling: str) -> None:
    if spelling == quote(ODD):  # a slash that was left as it is
        spelling = spelling.replace("/", "%2F")
    assert Redactor([Secret(ODD)]).text(f"before {spelling} after") == f"before {HIDDEN} after"


def test_every_line_of_a_long_secret_is_hidden() -> None:
    secret = "first-line-of-the-secret\nsecond-line-of-the-secret\n"
    assert Redactor([Secret(secret)]).text("x second-line-of-the-secret y") == f"x {HIDDEN} y"


@pytest.mark.parametrize(
    "text",
    [
        f"https://someone:{CANARY}@registry.example:8081/subjects",
        f"postgres://:{CANARY}@db/x",
        f"Authorization: Bearer {CANARY}",
        f"Authorization: Basic {CANARY}==",
        f'required username="u" password="{CANARY}";',
        f'{{"text": "username=\\"u\\" password=\\"{CANARY}\\";"}}',
        f"ssl.key.password={CANARY}",
        f"sasl.oauthbearer.client.credentials.client.secret: {CANARY}",
        f"DB_PASSWORD='{CANARY}'",
        f'"apiKey": "{CANARY}"',
        f"?access_token={CANARY}&x=1",
        f"a token hlg_{CANARY} was used",
        f"-----BEGIN EC PRIVATE KEY-----\n{CANARY}\n-----END EC PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    shown = Redactor([]).text(text)
    assert CANARY not in shown
    assert HIDDEN in shown


@pytest.mark.parametrize(
    "text", ["broker 10.0.0.1:9092 is away", "orders-0 at 15", "http://host:8083/ui/", "consumer@host", "a key: 5"]
)
def test_harmless_text_stays(text: str) -> None:
    assert Redactor([]).text(text) == text


def test_trees_are_searched_to_the_leaves() -> None:
    tree = {"list": [1, None, True, f"is {CANARY}"], f"{CANARY}": {"deep": CANARY}}
    shown = Redactor([Secret(CANARY)]).tree(tree)
    assert shown == {"list": [1, None, True, f"is {HIDDEN}"], HIDDEN: {"deep": HIDDEN}}


def test_variables_with_telling_names_are_secrets() -> None:
    found = environment_secrets({"AWS_SECRET_ACCESS_KEY": "one", "SASL_PASSWORD": "two", "LANG": "C"})
    assert {secret.reveal() for secret in found} == {"one", "two"}
