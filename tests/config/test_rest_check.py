"""Who may reach the REST server, decided while the file is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.config.mirror_config import MirrorConfig
from heliograph.config.rest_check import check_rest, is_rest_wanted, rest_access
from heliograph.errors import ConfigError
from tests.embedded.certificates import Authority

DIGEST = "0123456789abcdef" * 4
TOKEN = f"rest.token.ci = viewer:sha256:{DIGEST}\n"
SCRYPT = f"scrypt:2:1:1:{'ab' * 16}:{'cd' * 32}"
Problems = Callable[[str], list[str]]


@pytest.fixture
def problems(load_text: Callable[..., MirrorConfig]) -> Problems:
    """What is wrong with the REST server of a file with these lines."""

    def found(text: str) -> list[str]:
        try:
            config = load_text(text)
            problems = list(check_rest(config.settings, config.file))
        except ConfigError as error:
            problems = list(error.problems)
        return [f"{each.severity.value} {each.key}: {each.message} ({each.hint})" for each in problems]

    return found


@pytest.fixture
def keystore(tmp_path: Path) -> str:
    """The line for a keystore that can be used, if not for long."""
    return f"listeners.https.ssl.keystore.location = {Authority(tmp_path, 'root').issue('server', ['127.0.0.1'])}\n"


def errors(found: list[str]) -> list[str]:
    """Only what stops a command."""
    return [each for each in found if each.startswith("error")]


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:8083", "http://localhost:0", "HTTP://[::1]:8083", "http://127.9.9.9:1, http://localhost:2"],
)
def test_this_machine_alone_needs_nothing_more(problems: Problems, address: str) -> None:
    assert problems(f"listeners = {address}\n") == []


@pytest.mark.parametrize(
    "address",
    ["http://:8083", "http://0.0.0.0:8083", "http://[::]:8083", "http://mirror.example:8083", "http://10.0.0.1:1"],
)
@pytest.mark.parametrize("key", ["listeners", "admin.listeners"])
def test_other_machines_are_never_served_in_the_clear(problems: Problems, key: str, address: str) -> None:
    home = "" if key == "listeners" else "listeners = http://127.0.0.1:8083\n"
    (found,) = errors(problems(f"{home}{TOKEN}{key} = {address}\n"))
    assert found == (
        f"error {key}: {address} can be reached from other machines, but is not encrypted "
        f"(write http://127.0.0.1:PORT, or https:// with {key}.https.ssl.keystore.*)"
    )


def test_it_is_told_when_the_file_is_read(load_text: Callable[..., MirrorConfig]) -> None:
    with pytest.raises(ConfigError, match="listeners: http://:8083 can be reached from other machines"):
        load_text("listeners = http://:8083\n")


def test_one_address_among_others_is_enough(problems: Problems) -> None:
    (found,) = errors(problems("listeners = http://127.0.0.1:8083, http://:8084\n"))
    assert "http://:8084 can be reached" in found


def test_other_machines_are_never_served_without_asking_who_they_are(problems: Problems, keystore: str) -> None:
    text = f"listeners = https://:8083\n{keystore}"
    (found,) = errors(problems(text))
    assert found.startswith("error listeners: https://:8083 can be reached from other machines, but nobody is asked")
    assert "heliograph token NAME --role admin" in found
    assert errors(problems(text + TOKEN)) == []


def test_strangers_from_elsewhere_may_look_if_the_file_says_so_and_no_more(problems: Problems, keystore: str) -> None:
    text = f"listeners = https://:8083\n{keystore}{TOKEN}rest.anonymous.role = "
    assert errors(problems(f"{text}none\n")) == []
    assert next(each for each in problems(f"{text}viewer\n") if "rest.anonymous.role" in each).startswith("warning")
    for role in ("operator", "admin"):
        (found,) = errors(problems(f"{text}{role}\n"))
        assert found.startswith(f"error rest.anonymous.role: whoever can reach the server is {role}")


def test_a_server_that_nobody_asks_for_is_not_judged(problems: Problems) -> None:
    assert problems("admin.listeners = http://:8083\nlisteners.https.ssl.keystore.location = /none\n") == []
    assert problems("listeners =\n") == []


def test_but_mistyped_callers_are_told_in_any_case(problems: Problems) -> None:
    assert len(errors(problems("rest.token.ci = viewer:sha256:12\n"))) == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rest.token.ci = sha256:aa", "does not begin with viewer:, operator: or admin:"),
        ("rest.token.ci = root:sha256:aa", "does not begin with viewer:, operator: or admin:"),
        ("rest.token.ci = viewer", "does not end in sha256: and 64 hex digits"),
        ("rest.token.ci = viewer:sha256:zz", "does not end in sha256: and 64 hex digits"),
        (f"rest.token.ci = viewer:md5:{DIGEST}", "does not end in sha256: and 64 hex digits"),
        ("rest.token.ci = viewer:canary-plain-token", "does not end in sha256: and 64 hex digits"),
        (f"rest.token. = viewer:sha256:{DIGEST}", "a name has letters"),
        (f"rest.token.a\\ b = viewer:sha256:{DIGEST}", "a name has letters"),
        (f"rest.token.anonymous = viewer:sha256:{DIGEST}", "anonymous is what callers are called"),
        ("rest.user.al = viewer:canary-plain", "does not end in scrypt:N:R:P:SALT:KEY"),
        ("rest.user.al = viewer:scrypt:3:1:1:" + SCRYPT.split(":", 4)[4], "has numbers after scrypt:"),
        ("rest.user.al = viewer:scrypt:1073741824:8:1:" + SCRYPT.split(":", 4)[4], "has numbers after scrypt:"),
        ("rest.user.al = viewer:scrypt:2:1:1:ab:cd", "does not end in scrypt:N:R:P:SALT:KEY"),
        ("rest.certificate.al = viewer:alice", "does not end in a subject such as CN=alice,O=Example"),
        ("rest.certificate.al = viewer:", "names no subject"),
        ("rest.anonymous.role = root", "is not one of the possible values"),
        ("response.http.headers.config = X-Y: z", "is not a list of"),
        ("listeners = http://127.0.0.1:99999", "http://127.0.0.1:99999 is not an address to listen on"),
        ("listeners = http://127.0.0.1:1/path", "does not look like"),
        ("rest.certificate.al = viewer:CN=al\nlisteners = http://127.0.0.1:1", "no client is asked for a certificate"),
        ("listeners = https://127.0.0.1:1", "ssl.keystore.location is not set"),
        ("listeners = https://127.0.0.1:1\nlisteners.https.ssl.keystore.location = /none", "/none cannot be read"),
        ("listeners = http://127.0.0.1:1\naccess.control.allow.origin = *", "lets every web page do what callers"),
    ],
)
def test_what_is_wrong_is_told_with_its_key_and_without_its_value(problems: Problems, line: str, told: str) -> None:
    found = errors(problems(f"{line}\n"))
    assert len(found) == 1, found
    assert told in found[0]
    assert (
        found[0].split(": ")[0].removeprefix("error ")
        in line.replace("\\", "") + "listeners.https.ssl.keystore.location"
    )
    assert "canary" not in found[0]


def test_client_certificates_need_someone_to_trust(problems: Problems, keystore: str) -> None:
    text = f"listeners = https://127.0.0.1:1\n{keystore}listeners.https.ssl.client.auth = "
    assert "does not say whom to trust" in errors(problems(f"{text}required\n"))[0]
    assert "write none or requested or required" in errors(problems(f"{text}perhaps\n"))[0]


def test_a_certificate_that_expires_soon_is_told_and_stops_nothing(problems: Problems, keystore: str) -> None:
    (found,) = problems(f"listeners = https://127.0.0.1:1\n{keystore}")
    assert found.startswith("warning listeners.https.ssl.keystore.location: the certificate CN=server expires on ")


def test_all_is_read(load_text: Callable[..., MirrorConfig]) -> None:
    text = f"""
listeners = http://127.0.0.1:8083, http://[::1]:8084
admin.listeners =
{TOKEN}
rest.user.al = Operator : {SCRYPT}
rest.advertised.host.name = Mirror.Example
access.control.allow.origin = https://a.example, https://b.example
access.control.allow.methods = GET, put
rest.audit.file = /var/log/audit
"""
    config = load_text(text)
    access = rest_access(config)
    assert is_rest_wanted(config.settings)
    assert list(map(str, access.listeners)) == ["http://127.0.0.1:8083", "http://[::1]:8084"]
    assert access.admin_listeners == ()
    assert [(each.name, each.role, str(each.token)) for each in access.tokens] == [("ci", "viewer", f"sha256:{DIGEST}")]
    assert [(each.name, each.role, str(each.password)) for each in access.users] == [("al", "operator", SCRYPT)]
    assert access.anonymous_role == "none"
    assert access.own_names == {"mirror.example"}
    assert access.origins == ("https://a.example", "https://b.example")
    assert access.origin_methods == ("GET", "PUT")
    assert access.audit_file == "/var/log/audit"
    assert DIGEST not in repr(access)
    assert "cdcd" not in repr(access)


def test_a_subject_may_be_written_with_blanks_after_commas(
    load_text: Callable[..., MirrorConfig], keystore: str, tmp_path: Path
) -> None:
    text = f"""
listeners = https://127.0.0.1:1
{keystore}
listeners.https.ssl.client.auth = required
listeners.https.ssl.truststore.location = {tmp_path}/root-ca.pem
rest.certificate.al = admin:CN=al, O=Example
rest.certificate.same = admin:CN=al,O=Example
"""
    first, second = rest_access(load_text(text)).certificates
    assert first.subject == second.subject


def test_addresses_of_a_command_are_judged_like_those_of_the_file(load_text: Callable[..., MirrorConfig]) -> None:
    config = load_text()
    assert not is_rest_wanted(config.settings)
    assert list(check_rest(config.settings, config.file)) == []
    assert rest_access(config).anonymous_role == "admin"
    with pytest.raises(ConfigError, match="--rest: http://:8083 can be reached"):
        rest_access(config, ["http://:8083"])


@pytest.mark.parametrize("output", ["table", "json"])
def test_explaining_a_file_shows_no_hash(
    load_text: Callable[..., MirrorConfig], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from heliograph.cli.main import main

    file = load_text(f"{TOKEN}rest.user.al = operator:{SCRYPT}\n").file
    with pytest.raises(SystemExit):
        main(["config", "explain", file, "-o", output])
    shown = capsys.readouterr().out
    assert "rest.token.ci" in shown
    assert DIGEST not in shown
    assert "cdcd" not in shown
