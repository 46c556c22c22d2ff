from pathlib import Path

import pytest

from heliograph.config.providers import (
    Provider,
    ProviderError,
    Reference,
    build_providers,
    references,
    resolve,
)

PACKAGE = "org.apache.kafka.common.config.provider."
ENVIRONMENT = {"PASSWORD": "hunter22", "HOME": "/root"}


def declared(name: str, kind: str, **parameters: str) -> dict[str, str]:
    keys = {f"config.providers.{name}.param.{key.replace('_', '.')}": value for key, value in parameters.items()}
    return {
        "config.providers": name,
        f"config.providers.{name}.class": f"{PACKAGE}{kind}ConfigProvider",
        **keys,
    }


def built(settings: dict[str, str]) -> dict[str, Provider]:
    providers, problems = build_providers(settings, ENVIRONMENT)
    assert problems == []
    return providers


def test_references_are_found_in_order() -> None:
    text = 'username="${env:USER}" password="${file:/etc/a.properties:pw}";'
    assert references(text) == [
        Reference("env", "", "USER", "${env:USER}"),
        Reference("file", "/etc/a.properties", "pw", "${file:/etc/a.properties:pw}"),
    ]
    assert references("plain $ {text} ${} ${x}") == []


def test_environment_variables() -> None:
    providers = built(declared("env", "EnvVar"))
    assert resolve("a${env:PASSWORD}b${env:HOME}", providers) == "ahunter22b/root"
    assert resolve("nothing to do", providers) == "nothing to do"


def test_environment_is_limited_by_the_allow_list() -> None:
    providers = built(declared("vars", "EnvVar", allowlist_pattern="PASS.*"))
    assert resolve("${vars:PASSWORD}", providers) == "hunter22"
    with pytest.raises(ProviderError, match=r"HOME is not allowed by config\.providers\.vars\.param\.allowlist"):
        resolve("${vars:HOME}", providers)


def test_undeclared_names_work_and_say_so() -> None:
    providers = built({})
    assert set(providers) == {"env", "file", "directory"}
    assert not any(provider.declared for provider in providers.values())
    assert built(declared("env", "EnvVar"))["env"].declared
    assert resolve("${env:HOME}", providers) == "/root"


def test_a_declaration_may_give_a_known_name_another_meaning(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("key=value")
    providers = built(declared("env", "File"))
    assert resolve(f"${{env:{tmp_path}/a.properties:key}}", providers) == "value"


def test_keys_of_properties_files(tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    file.write_text("# comment\npass\\ word = h\\u00fcnter\nother: ü", encoding="utf-8")
    providers = built(declared("file", "File"))
    assert resolve(f"${{file:{file}:pass word}}", providers) == "hünter"
    assert resolve(f"${{file:{file}:other}}", providers) == "ü"


def test_files_of_directories_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter22\n")
    providers = built(declared("dir", "Directory"))
    assert resolve(f"${{dir:{tmp_path}:password}}", providers) == "hunter22\n"


def test_mounted_secrets_with_links_inside_the_allowed_path(tmp_path: Path) -> None:
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "password").write_text("hunter22")
    (tmp_path / "password").symlink_to("..data/password")
    providers = built(declared("dir", "Directory", allowed_paths=str(tmp_path)))
    assert resolve(f"${{dir:{tmp_path}:password}}", providers) == "hunter22"


@pytest.fixture
def fenced(tmp_path: Path) -> Path:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed-not").mkdir()
    for folder in ("allowed", "allowed-not"):
        (tmp_path / folder / "file").write_text("key=hunter22")
    (tmp_path / "allowed" / "link").symlink_to(tmp_path / "allowed-not" / "file")
    (tmp_path / "allowed" / "folder").symlink_to(tmp_path / "allowed-not")
    return tmp_path


@pytest.mark.parametrize(
    "path", ["allowed-not/file", "allowed/../allowed-not/file", "allowed/link", "allowed/folder/file"]
)
def test_paths_outside_of_the_allowed_ones_are_refused(fenced: Path, path: str) -> None:
    providers = built(declared("file", "File", allowed_paths=f"{fenced}/allowed"))
    assert resolve(f"${{file:{fenced}/allowed/file:key}}", providers) == "hunter22"
    with pytest.raises(ProviderError, match=r"lies outside of config\.providers\.file\.param\.allowed\.paths"):
        resolve(f"${{file:{fenced}/{path}:key}}", providers)


@pytest.mark.parametrize(("path", "key"), [("allowed-not", "file"), ("allowed", "link"), ("allowed/folder", "file")])
def test_directories_outside_of_the_allowed_ones_are_refused(fenced: Path, path: str, key: str) -> None:
    providers = built(declared("dir", "Directory", allowed_paths=f"{fenced}/allowed"))
    with pytest.raises(ProviderError, match="lies outside"):
        resolve(f"${{dir:{fenced}/{path}:{key}}}", providers)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${vault:secret:key}", "no config provider named vault; declare it in config.providers"),
        ("${env:MISSING}", "MISSING is not set"),
        ("${env:path:KEY}", "takes no path"),
        ("${file:key}", "needs a file"),
        ("${file:FOLDER/none:key}", "cannot be read: No such file"),
        ("${file:FOLDER:key}", "cannot be read: Is a directory"),
        ("${file:FOLDER/good:nothing}", "has no key nothing"),
        ("${file:FOLDER/binary:key}", "is not UTF-8"),
        ("${file:FOLDER/escape:key}", "broken .u escape"),
        ("${file:FOLDER/loop:key}", "cannot be read|can be followed"),
        ("${file:nul\0:key}", "not a path"),
        ("${directory:file}", "needs a directory"),
        ("${directory:FOLDER:../x}", "plain name of a file"),
        ("${directory:FOLDER:..}", "plain name of a file"),
        ("${directory:FOLDER:none}", "cannot be read"),
    ],
)
def test_what_cannot_be_resolved_is_explained_without_the_secret(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "good").write_text("key=hunter22")
    (tmp_path / "binary").write_bytes(b"key=\xff\xfe hunter22")
    (tmp_path / "escape").write_text("key=hunter22\\u00zz")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ProviderError, match=reason) as caught:
        resolve(text.replace("FOLDER", str(tmp_path)), built({}))
    assert "hunter22" not in str(caught.value)


def test_values_are_not_looked_through_again() -> None:
    providers, _ = build_providers({}, {"A": "${env:B}", "B": "b"})
    assert resolve("${env:A}", providers) == "${env:B}"


def test_a_provider_does_not_show_the_environment() -> None:
    assert "hunter22" not in repr(built({})["env"])


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"config.providers": "a"}, "config.providers.a.class", "has no class"),
        (
            {"config.providers": "a", "config.providers.a.class": "com.x.Vault"},
            "config.providers.a.class",
            "com.x.Vault",
        ),
        (
            declared("a", "EnvVar", allowlist_pattern="*"),
            "config.providers.a.param.allowlist.pattern",
            "nothing to repeat",
        ),
        (
            declared("a", "File", allowed_paths="etc"),
            "config.providers.a.param.allowed.paths",
            "not absolute",
        ),
        (
            declared("a", "File", allowed_paths="/none/such"),
            "config.providers.a.param.allowed.paths",
            "not exist",
        ),
    ],
)
def test_bad_declarations_are_reported_at_their_key(settings: dict[str, str], key: str, message: str) -> None:
    _, problems = build_providers(settings, ENVIRONMENT)
    assert [problem.key for problem in problems] == [key]
    assert message in problems[0].message
    assert problems[0].hint


def test_a_bad_allow_list_allows_nothing() -> None:
    providers, _ = build_providers(declared("a", "EnvVar", allowlist_pattern="*"), ENVIRONMENT)
    with pytest.raises(ProviderError):
        resolve("${a:HOME}", providers)


def test_all_declarations_are_checked_at_once() -> None:
    _, problems = build_providers({"config.providers": "a, b"}, ENVIRONMENT)
    assert len(problems) == 2
