"""Talking with a schema registry."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from heliograph.config.secret import Secret
from heliograph.errors import DataError, RetryLater
from heliograph.transforms.formats import registry as registry_module
from heliograph.transforms.formats.codec import Reference, StoredSchema
from heliograph.transforms.formats.registry import Refused, Registry
from heliograph.transforms.formats.registry_settings import RegistrySettings, source_registry, target_registry
from tests.embedded.certificates import Authority
from tests.transforms.formats.registry_server import RegistryServer, running_registry

LONG = StoredSchema("AVRO", '"long"')


def client(*servers: RegistryServer, user: str | None = None) -> Registry:
    return Registry(RegistrySettings(tuple(server.url for server in servers), Secret(user) if user else None))


def test_a_schema_is_registered_and_found_by_its_id(registry: RegistryServer) -> None:
    asked = client(registry)
    number = asked.register("orders/new-value", LONG)
    assert asked.register("orders/new-value", LONG) == number
    assert asked.by_id(number) == LONG
    assert registry.ids("orders/new-value") == [number]


def test_kind_and_references_go_along(registry: RegistryServer) -> None:
    registry.add("base", 'syntax = "proto3"; message Base {}', "PROTOBUF")
    asked = client(registry)
    schema = StoredSchema("PROTOBUF", 'import "base.proto";', (Reference("base.proto", "base", 1),))
    assert asked.by_id(asked.register("orders-value", schema)) == schema
    assert asked.by_version(schema.references[0]).text.endswith("Base {}")
    assert asked.look_up("orders-value", schema) == {"subject": "orders-value", "id": 2, "version": 1}


def test_an_unknown_id_is_no_schema(registry: RegistryServer) -> None:
    assert client(registry).by_id(7) is None


def test_a_path_that_is_not_there_is_not_an_unknown_id(registry: RegistryServer) -> None:
    registry.status = 404  # as from a server that is no registry
    with pytest.raises(Refused, match="404"):
        client(registry).by_id(7)


def test_a_refusal_tells_why(registry: RegistryServer) -> None:
    registry.refused.add("orders-value")
    with pytest.raises(DataError, match=r"orders-value.*incompatible.*409") as caught:
        client(registry).register("orders-value", LONG)
    assert not isinstance(caught.value, RetryLater)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_registry_that_cannot_be_reached_may_be_there_later() -> None:
    with pytest.raises(RetryLater, match=r"http://127.0.0.1:1 cannot be reached: ConnectError"):
        Registry(RegistrySettings(("http://127.0.0.1:1",))).by_id(1)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_trouble_that_is_not_the_records_fault_may_pass(registry: RegistryServer, status: int) -> None:
    registry.status = status
    with pytest.raises(RetryLater, match=str(status)):
        client(registry).by_id(1)


def test_after_a_failure_it_is_left_alone_for_a_moment(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.status = 503
    asked = client(registry)
    for _ in range(3):
        with pytest.raises(RetryLater, match="503"):
            asked.by_id(1)
    assert len(registry.requests) == 1
    registry.status = None
    monkeypatch.setattr(registry_module, "_QUIET_SECONDS", 0.0)
    assert asked.by_id(1) is None


def test_the_next_address_is_asked_if_one_does_not_answer(registry: RegistryServer) -> None:
    asked = Registry(RegistrySettings(("http://127.0.0.1:1", registry.url)))
    assert asked.by_id(1) is None


def test_name_and_password_are_shown_to_the_registry_and_to_nobody_else(registry: RegistryServer) -> None:
    registry.allow("me:top-secret")
    assert client(registry, user="me:top-secret").register("s", LONG) == 1
    wrong = client(registry, user="me:very-wrong")
    with pytest.raises(RetryLater) as caught:
        wrong.by_id(1)
    assert "401" in str(caught.value)
    assert "very-wrong" not in str(caught.value) + repr(wrong.__dict__["_settings"])


def test_a_token_is_shown_to_the_registry(registry: RegistryServer) -> None:
    registry.authorizations.add("Bearer abc")
    settings: dict[str, str | Secret] = {"schema.registry.url": registry.url}
    settings["schema.registry.bearer.auth.token"] = Secret("abc")
    found = source_registry(settings, "value")
    assert found is not None
    assert Registry(found).by_id(1) is None


def test_tls_trusts_whom_the_settings_say(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "registry")
    with running_registry(certificate=authority.issue("server", ["127.0.0.1"])) as server:
        number = server.add("s", '"long"')
        settings = {
            "schema.registry.url": server.url,
            "schema.registry.ssl.truststore.type": "PEM",
            "schema.registry.ssl.truststore.location": str(authority.trusted),
        }
        trusting, distrusting = source_registry(settings, "key"), RegistrySettings((server.url,))
        assert trusting is not None
        assert Registry(trusting).by_id(number) == LONG
        with pytest.raises(RetryLater, match="cannot be reached"):
            Registry(distrusting).by_id(number)


class TestSettings:
    def test_without_an_address_there_is_no_registry(self) -> None:
        assert source_registry({"schema.registry.basic.auth.user.info": "a:b"}, "value") is None
        assert target_registry({"schema.registry.url": "http://a"}) is None

    def test_the_converters_own_address_wins(self) -> None:
        settings = {"schema.registry.url": "http://both:1", "value.converter.schema.registry.url": "http://own:2/"}
        assert source_registry(settings, "value") == RegistrySettings(("http://own:2",))
        assert source_registry(settings, "key") == RegistrySettings(("http://both:1",))

    def test_a_password_is_not_sent_to_another_registry(self) -> None:
        settings = {
            "schema.registry.url": "http://both",
            "schema.registry.basic.auth.user.info": "me:secret",
            "value.converter.schema.registry.url": "http://own",
            "target.schema.registry.url": "http://there",
        }
        for found in (source_registry(settings, "value"), target_registry(settings)):
            assert found is not None
            assert found.user is None

    def test_confluents_short_keys_work_behind_a_converter(self) -> None:
        settings = {
            "value.converter.schema.registry.url": "http://own",
            "value.converter.basic.auth.credentials.source": "USER_INFO",
            "value.converter.basic.auth.user.info": "me:secret",
        }
        assert source_registry(settings, "value") == RegistrySettings(("http://own",), Secret("me:secret"))

    def test_name_and_password_in_an_address_are_taken_out_of_it(self) -> None:
        found = source_registry({"schema.registry.url": "http://me:se%20cret@host:8081, http://other"}, "key")
        assert found == RegistrySettings(("http://host:8081", "http://other"), Secret("me:se cret"))

    @pytest.mark.parametrize(
        ("settings", "key"),
        [
            ({"schema.registry.url": "host:8081"}, "schema.registry.url"),
            ({"schema.registry.url": "http://a:x"}, "schema.registry.url"),
            ({"schema.registry.basic.auth.credentials.source": "SASL_INHERIT"}, "credentials.source"),
            ({"schema.registry.basic.auth.credentials.source": "USER_INFO"}, "user.info"),
            ({"schema.registry.basic.auth.user.info": "noColonHere"}, "user.info"),
            ({"schema.registry.bearer.auth.credentials.source": "OAUTHBEARER"}, "bearer.auth.credentials.source"),
            ({"schema.registry.ssl.truststore.type": "ABC", "schema.registry.ssl.truststore.location": "x"}, "ABC"),
        ],
    )
    def test_what_is_wrong_is_told_without_secrets(self, settings: dict[str, str], key: str) -> None:
        with pytest.raises(ValueError, match=key) as caught:
            source_registry({"schema.registry.url": "http://a", **settings}, "value")
        assert "noColonHere" not in str(caught.value)
