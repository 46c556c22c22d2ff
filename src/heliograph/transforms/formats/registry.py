"""A schema registry over HTTP, as Confluent's answers: schemas by id, and new ones under subjects."""

from __future__ import annotations

import ssl
import time
from base64 import b64encode
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

import httpx

from heliograph.config.stores import StoreError, TlsSettings, ssl_context
from heliograph.errors import DataError, RetryLater
from heliograph.transforms.formats.codec import Reference, StoredSchema
from heliograph.transforms.formats.registry_settings import RegistrySettings

AVRO: Final = "AVRO"
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_UNKNOWN_ID: Final = 40403
_TIMEOUT: Final = httpx.Timeout(10, connect=3)
_LIMITS: Final = httpx.Limits(max_keepalive_connections=0)  # it is asked so seldom that no connection need wait
_QUIET_SECONDS: Final = 1.0  # after a failure, so that not every record waits for a timeout
_SHOWN_CHARACTERS: Final = 300
_TEMPORARY: Final = (401, 403, 408, 429)  # as all of 5xx: not the record's fault


class Refused(DataError):
    """The registry has answered, and the answer was no."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[Refused], tuple[str, int]]:
        return (Refused, (str(self), self.code))


class Registry:
    """Asks one registry; remembers nothing but that it could not be reached a moment ago."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._client = httpx.Client(
            verify=_context(settings),
            timeout=_TIMEOUT,
            limits=_LIMITS,
            headers=_headers(settings),
            trust_env=False,
        )
        self._failed_at = -_QUIET_SECONDS
        self._failure = ""

    def by_id(self, number: int) -> StoredSchema | None:
        """The schema with this id; None if the registry does not know it."""
        try:
            return _stored(self._ask("GET", f"/schemas/ids/{number}"))
        except Refused as error:
            if error.code == _UNKNOWN_ID:
                return None
            raise

    def by_version(self, reference: Reference) -> StoredSchema:
        """The schema that another one refers to."""
        path = f"{_subject(reference.subject)}/versions/{reference.version}"
        return _stored(self._ask("GET", path))

    def register(self, subject: str, schema: StoredSchema) -> int:
        """The id of a schema under a subject, which it gets now if it has none."""
        return int(self._ask("POST", f"{_subject(subject)}/versions", schema)["id"])

    def look_up(self, subject: str, schema: StoredSchema) -> dict[str, Any]:
        """What is known of a schema under a subject: `id` and `version`."""
        return self._ask("POST", _subject(subject), schema)

    def _ask(self, method: str, path: str, schema: StoredSchema | None = None) -> dict[str, Any]:
        if time.monotonic() - self._failed_at < _QUIET_SECONDS:
            raise RetryLater(self._failure)
        failure = ""
        for url in self._settings.urls:
            try:
                response = self._client.request(method, url + path, json=_body(schema) if schema else None)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                failure = f"the schema registry {url} cannot be reached: {type(error).__name__}"
                continue
            if response.status_code < 500 and response.status_code not in _TEMPORARY:
                return _answer(url, path, response)
            failure = f"the schema registry {url} answered {response.status_code} {response.reason_phrase}"
        self._failed_at, self._failure = time.monotonic(), failure
        raise RetryLater(failure)


@lru_cache(maxsize=16)
def registry_of(settings: RegistrySettings) -> Registry:
    """The one client for a registry in this process."""
    return Registry(settings)


def _context(settings: RegistrySettings) -> ssl.SSLContext | bool:
    if not any(url.startswith("https:") for url in settings.urls):
        return True
    try:
        return ssl_context(TlsSettings.from_client_settings(dict(settings.tls)))
    except StoreError as error:
        raise RetryLater(f"the schema registry's TLS settings cannot be used: {error}") from None


def _headers(settings: RegistrySettings) -> dict[str, str]:
    headers = {"Accept": f"{_CONTENT_TYPE}, application/json", "Content-Type": _CONTENT_TYPE}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token.reveal()}"
    elif settings.user is not None:
        headers["Authorization"] = f"Basic {b64encode(settings.user.reveal().encode()).decode()}"
    return headers


def _subject(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def _body(schema: StoredSchema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.kind != AVRO:  # registries from before there were other kinds do not know the word
        body["schemaType"] = schema.kind
    if schema.references:
        body["references"] = [reference._asdict() for reference in schema.references]
    return body


def _answer(url: str, path: str, response: httpx.Response) -> dict[str, Any]:
    try:
        content = response.json()
    except ValueError:
        content = None
    if response.is_success and isinstance(content, dict):
        return content
    told = content if isinstance(content, dict) else {}
    code, message = told.get("error_code", response.status_code), str(told.get("message", response.reason_phrase))
    text = f"the schema registry {url} refuses {path}: {message[:_SHOWN_CHARACTERS]} ({code})"
    raise Refused(text, code if isinstance(code, int) else response.status_code)


def _stored(content: dict[str, Any]) -> StoredSchema:
    try:
        references = tuple(
            Reference(str(item["name"]), str(item["subject"]), int(item["version"]))
            for item in content.get("references") or ()
        )
        return StoredSchema(str(content.get("schemaType") or AVRO).upper(), str(content["schema"]), references)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the schema registry's answer is malformed: {type(error).__name__}") from None
