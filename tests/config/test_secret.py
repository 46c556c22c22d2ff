import copy
import json
import logging
import pickle
from dataclasses import asdict, dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.config.secret import Secret, redact

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Holder:
    secret: Secret


@pytest.mark.parametrize(
    "shown",
    [
        str(Secret(PASSWORD)),
        repr(Secret(PASSWORD)),
        f"{Secret(PASSWORD)}",
        f"{Secret(PASSWORD)!r}",
        f"{Secret(PASSWORD):>20}",
        "%s" % Secret(PASSWORD),  # noqa: UP031
        str([Secret(PASSWORD)]),
        str(Holder(Secret(PASSWORD))),
        str(asdict(Holder(Secret(PASSWORD)))),
    ],
)
def test_a_secret_hides_itself_however_it_is_shown(shown: str) -> None:
    assert "[hidden]" in shown
    assert "horse" not in shown


def test_only_reveal_gives_it_away() -> None:
    assert Secret(PASSWORD).reveal() == PASSWORD
    assert not hasattr(Secret(PASSWORD), "__dict__")


def test_logs_do_not_hold_it(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("login with %s failed", Secret(PASSWORD))
    assert "horse" not in caplog.text


def test_json_refuses_it() -> None:
    with pytest.raises(TypeError):
        json.dumps({"password": Secret(PASSWORD)})


def test_equality_and_hash_go_by_value() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_it_cannot_be_changed() -> None:
    secret = Secret("a")
    with pytest.raises(AttributeError):
        secret.value = "b"
    with pytest.raises(AttributeError):
        del secret._Secret__value


@given(st.text())
def test_it_survives_pickling_and_copying(value: str) -> None:
    assert pickle.loads(pickle.dumps(Secret(value))) == Secret(value)
    assert copy.deepcopy(Secret(value)).reveal() == value


def test_pickled_it_is_not_readable_in_passing() -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert b"horse" not in pickle.dumps(Secret(PASSWORD), protocol)


def test_redact_hides_known_secrets_the_longest_first() -> None:
    text = "login as bob with hunter22 or hunter2 failed"
    assert redact(text, [Secret("hunter2"), Secret("hunter22")]) == "login as bob with [hidden] or [hidden] failed"


def test_redact_leaves_very_short_secrets_which_would_hit_by_chance() -> None:
    assert redact("a cat sat", [Secret("cat"), Secret("")]) == "a cat sat"
    assert redact("four", [Secret("four")]) == "[hidden]"
