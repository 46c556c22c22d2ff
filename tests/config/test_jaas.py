import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.config.jaas import (
    JaasError,
    JaasLogin,
    LoginModule,
    OAuthCredentials,
    PasswordCredentials,
    parse,
)
from heliograph.config.secret import Secret

SECURITY = "org.apache.kafka.common.security."
PLAIN = SECURITY + "plain.PlainLoginModule"
SCRAM = SECURITY + "scram.ScramLoginModule"
OAUTH = SECURITY + "oauthbearer.OAuthBearerLoginModule"


def test_plain_login_over_several_lines() -> None:
    login = parse(f'{PLAIN} required \n    username="source-user" \n    password="source-password";')
    assert login == JaasLogin(
        LoginModule.PLAIN, "required", {"username": "source-user", "password": Secret("source-password")}
    )
    assert login.credentials == PasswordCredentials("source-user", Secret("source-password"))


@pytest.mark.parametrize("prefix", ["", "kafkashaded."])
def test_scram_login_also_shaded(prefix: str) -> None:
    login = parse(f'{prefix}{SCRAM} REQUIRED username="a" password="b" tokenauth="true" ;')
    assert login.module is LoginModule.SCRAM
    assert login.flag == "required"
    assert login.credentials == PasswordCredentials("a", Secret("b"), is_delegation_token=True)


def test_oauth_login() -> None:
    login = parse(
        f'{OAUTH} required clientId="me" clientSecret="hunter22" scope="kafka" '
        'extension_logicalCluster="lkc-1" extension_identityPoolId="pool";'
    )
    assert login.credentials == OAuthCredentials(
        "me", Secret("hunter22"), "kafka", {"logicalCluster": "lkc-1", "identityPoolId": "pool"}
    )
    assert parse(f"{OAUTH} required;").credentials == OAuthCredentials(None, None, None, {})


def test_options_are_secret_unless_known_to_be_harmless() -> None:
    login = parse(f'{PLAIN} required username="bob" password="hunter22" mystery="hunter33";')
    assert login.options["mystery"] == Secret("hunter33")
    assert "bob" in repr(login)
    assert "hunter" not in repr(login)
    assert "hunter" not in repr(login.credentials)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r'"a\"b"', 'a"b'),
        (r'"a\\b"', "a\\b"),
        (r'"a\tb\nc"', "a\tb\nc"),
        (r'"\101\60x"', "A0x"),
        (r'"\400"', " 0"),
        ("'single \"quotes\"'", 'single "quotes"'),
        ('"//no /*comment*/; = "', "//no /*comment*/; = "),
        ("plain-word_1.x", "plain-word_1.x"),
        ('""', ""),
        ('"pässword"', "pässword"),
    ],
)
def test_values_are_quoted_and_escaped_as_in_java(written: str, value: str) -> None:
    login = parse(f"{PLAIN} required username=u password={written};")
    assert login.options["password"] == Secret(value)


def test_comments_are_skipped() -> None:
    assert parse(f'// who\n{PLAIN} /* how */ required username="a" // x\n password="b";').flag == "required"


@given(st.text(alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])))
def test_any_password_can_be_written(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    login = parse(f'{PLAIN} required username="u" password="{escaped}";')
    assert login.options["password"] == Secret(password)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no login module; write org"),
        ("  ;", "names no login module"),
        (f'{PLAIN} username="u" password="hunter22";', "must be followed by a flag"),
        (f'{PLAIN} "hunter22";', "must be followed by a flag"),
        (
            f'{PLAIN} required username="u" password="hunter22"',
            "must end with ';', which is missing after the option password",
        ),
        (f"{PLAIN} required", "must end with ';', which is missing after the flag"),
        (f'{PLAIN} required username="u" password="hunter22', "never closed"),
        (f'{PLAIN} required username="u" password="hunter\n22";', "never closed"),
        (f'{PLAIN} required username="u" password;', "the option password has no value"),
        (
            f'{PLAIN} required username="u" password=22hunter22;',
            "the option password must be in double quotes",
        ),
        (f'{PLAIN} required username="u" password=hunter22!x;', "after the option password comes neither"),
        (f'{PLAIN} required username="u" password=big hunter22;', "an option has no value"),
        (f'{PLAIN} required username="u" password=“hunter22”;', "must be in double quotes"),
        (f'{PLAIN} required password="hunter22";', "lacks username"),
        (f"{SCRAM} required;", "lacks username and password"),
        (f'{PLAIN} required username="u" password="hunter22"; {PLAIN} required;', "only one login module"),
        (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;",
            "Kerberos .* is not supported",
        ),
        ("com.sun.security.auth.module.JndiLoginModule required;", "JndiLoginModule is not a supported"),
        ("evil.ScramLoginModule required;", "evil.ScramLoginModule is not a supported"),
        ("hunter22;", "what it begins with is not a supported login module; supported: org"),
    ],
)
def test_a_login_that_cannot_be_used_is_explained_without_its_values(text: str, reason: str) -> None:
    with pytest.raises(JaasError, match=reason) as caught:
        parse(text)
    assert "hunter" not in str(caught.value)
