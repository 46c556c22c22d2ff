"""Strimzi's `KafkaMirrorMaker2` resources: clusters, mirrors, and secrets of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from heliograph.config.problem import Problem, Severity
from heliograph.errors import ConfigError
from heliograph.migration.connectors import text_of
from heliograph.migration.document import Document
from heliograph.migration.draft import Draft, Role
from heliograph.migration.placeholder import directory_reference

KIND: Final = "KafkaMirrorMaker2"
_ROLES: Final = {
    "sourceConnector": Role.SOURCE,
    "checkpointConnector": Role.CHECKPOINT,
    "heartbeatConnector": Role.HEARTBEAT,
}
_PATTERNS: Final = {
    "topicsPattern": "topics",
    "topicsExcludePattern": "topics.exclude",
    "topicsBlacklistPattern": "topics.exclude",
    "groupsPattern": "groups",
    "groupsExcludePattern": "groups.exclude",
    "groupsBlacklistPattern": "groups.exclude",
}
_MECHANISMS: Final = {"scram-sha-512": "SCRAM-SHA-512", "scram-sha-256": "SCRAM-SHA-256", "plain": "PLAIN"}
_PACKAGE: Final = "org.apache.kafka.common.security"
_IN_SPEC: Final = ("clusters", "mirrors", "connectCluster", "target", "version", "replicas")
_IN_CLUSTER: Final = ("alias", "bootstrapServers", "tls", "authentication", "config")
_IN_TARGET: Final = ("groupId", "configStorageTopic", "offsetStorageTopic", "statusStorageTopic")


def is_resource(value: object) -> bool:
    """Whether a document is a resource of Kubernetes."""
    return isinstance(value, dict) and "kind" in value and "apiVersion" in value


class ResourceReader:
    """Adds resources to a draft; secrets are expected below a folder, each in a folder of its name."""

    def __init__(self, draft: Draft, file: str, secrets: str) -> None:
        self._draft = draft
        self._file = file
        self._secrets = secrets.rstrip("/")
        self._mounted: set[str] = set()
        self._problems: list[Problem] = []

    def add(self, documents: list[Document]) -> None:
        """Add all resources. Raises ConfigError with all that cannot be used."""
        for document in documents:
            for resource in _items(document.value):
                self._add_resource(resource, document.line)
        if self._problems:
            raise ConfigError(self._problems)
        for secret in sorted(self._mounted):
            self._draft.notes.append(
                f"the secret {secret} is expected as files in {self._secrets}/{secret}: mount it there"
            )

    def _add_resource(self, resource: Mapping[str, Any], line: int) -> None:
        name = str(_mapping(resource.get("metadata")).get("name", "without a name"))
        if resource.get("kind") != KIND:
            self._draft.notes.append(f"{resource.get('kind')} {name} is no {KIND}: left out")
            return
        spec = _mapping(resource.get("spec"))
        mirrors = [_mapping(mirror) for mirror in _list(spec.get("mirrors"))]
        clusters = [_mapping(item) for item in _list(spec.get("clusters"))]
        clusters += [
            _mapping(item) for item in (*(mirror.get("source") for mirror in mirrors), spec.get("target")) if item
        ]
        if not clusters or not mirrors:
            hint = "give a resource with spec.clusters (or spec.target) and spec.mirrors"
            self._fault(f"{KIND} {name} names no clusters or no mirrors", hint, line, "spec")
            return
        for cluster in clusters:
            self._add_cluster(cluster, name, line)
        target = _mapping(spec.get("target")).get("alias")
        for mirror in mirrors:
            self._add_mirror(mirror, target, name, line)
        self._tell_left_out(spec, _IN_SPEC, f"{KIND} {name}", "is about pods, not about what they do")
        if str(spec.get("replicas", "1")) != "1":
            self._draft.notes.append(
                f"{name} has {spec['replicas']} replicas: work is spread by Spark, see spark.master"
            )

    def _add_cluster(self, cluster: Mapping[str, Any], name: str, line: int) -> None:
        alias = str(cluster.get("alias", "")).strip()
        if not alias or not cluster.get("bootstrapServers"):
            self._fault(f"a cluster of {name} has no alias or no bootstrapServers", "write both", line, "spec.clusters")
            return
        settings = {"bootstrap.servers": str(cluster["bootstrapServers"]), **dict(self._security(cluster, alias))}
        settings |= {key: text_of(value) for key, value in _mapping(cluster.get("config")).items()}
        self._draft.add_cluster(alias, settings, name)
        self._tell_left_out(cluster, (*_IN_CLUSTER, *_IN_TARGET), f"cluster {alias}", "has no equal")

    def _security(self, cluster: Mapping[str, Any], alias: str) -> Iterator[tuple[str, str]]:
        login = _mapping(cluster.get("authentication"))
        kind = str(login.get("type", ""))
        has_tls, has_login = "tls" in cluster, kind in _MECHANISMS
        if has_tls or has_login or kind == "tls":
            yield (
                "security.protocol",
                ("SASL_" if has_login else "") + ("SSL" if has_tls or kind == "tls" else "PLAINTEXT"),
            )
        yield from self._trust(_mapping(cluster.get("tls")), alias)
        if kind == "tls":
            yield from self._certificate(_mapping(login.get("certificateAndKey")))
        elif has_login:
            yield "sasl.mechanism", _MECHANISMS[kind]
            yield "sasl.jaas.config", self._jaas(kind, login)
        elif kind:
            self._draft.notes.append(
                f"{alias}: authentication of the type {kind} needs a hand: write sasl.* of {alias}"
            )

    def _trust(self, tls: Mapping[str, Any], alias: str) -> Iterator[tuple[str, str]]:
        trusted = [_mapping(item) for item in _list(tls.get("trustedCertificates"))]
        files = [self._file_of(item, "certificate") for item in trusted if item.get("certificate")]
        if len(files) < len(trusted):
            self._draft.notes.append(f"{alias}: certificates given by a pattern need a hand: name each file")
        if files:
            yield "ssl.truststore.type", "PEM"
            yield "ssl.truststore.certificates", "".join(files)

    def _certificate(self, pair: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        yield "ssl.keystore.type", "PEM"
        yield "ssl.keystore.certificate.chain", self._file_of(pair, "certificate")
        yield "ssl.keystore.key", self._file_of(pair, "key")

    def _jaas(self, kind: str, login: Mapping[str, Any]) -> str:
        module = "plain.PlainLoginModule" if kind == "plain" else "scram.ScramLoginModule"
        password = self._file_of(_mapping(login.get("passwordSecret")), "password")
        return f'{_PACKAGE}.{module} required username="{login.get("username", "")}" password="{password}";'

    def _file_of(self, item: Mapping[str, Any], key: str) -> str:
        """A reference to one file of a secret."""
        secret = str(item.get("secretName", "")) or "SECRET"
        self._mounted.add(secret)
        return directory_reference(self._secrets, secret, str(item.get(key, "")) or key)

    def _add_mirror(self, mirror: Mapping[str, Any], target: object, name: str, line: int) -> None:
        source = mirror.get("sourceCluster") or _mapping(mirror.get("source")).get("alias")
        way = str(source or "").strip(), str(mirror.get("targetCluster") or target or "").strip()
        if not all(way):
            self._fault(f"a mirror of {name} does not name both clusters", "write both aliases", line, "spec.mirrors")
            return
        patterns = {key: str(mirror[field]) for field, key in _PATTERNS.items() if mirror.get(field)}
        for field, role in _ROLES.items():
            if field in mirror:
                self._add_connector(role, way, _mapping(mirror[field]), patterns, f"{field} of {name}")
        known = (*_PATTERNS, *_ROLES, "sourceCluster", "targetCluster", "source")
        self._tell_left_out(mirror, known, f"mirror {way[0]}->{way[1]}", "has no equal")

    def _add_connector(
        self, role: Role, way: tuple[str, str], connector: Mapping[str, Any], patterns: Mapping[str, str], said_by: str
    ) -> None:
        config = dict(patterns) | {key: text_of(value) for key, value in _mapping(connector.get("config")).items()}
        if connector.get("tasksMax") and role is Role.SOURCE:
            config["tasks.max"] = str(connector["tasksMax"])
        self._draft.add_connector(role, way, config, said_by)
        if connector.get("pause") == "true" or str(connector.get("state", "running")) != "running":
            self._draft.notes.append(f"{said_by} is paused or stopped there: it runs here until it is paused by REST")

    def _tell_left_out(self, given: Mapping[str, Any], known: tuple[str, ...], what: str, why: str) -> None:
        left_out = [key for key in given if key not in known]
        if left_out:
            self._draft.notes.append(f"{what}: {', '.join(left_out)} {why}: left out")

    def _fault(self, message: str, hint: str, line: int, key: str) -> None:
        self._problems.append(Problem(Severity.ERROR, message, hint, self._file, line, key))


def _items(value: Any) -> Iterator[Mapping[str, Any]]:
    """The resource, or those of a list, as kubectl prints several."""
    if is_resource(value) and value["kind"] == "List":
        yield from (_mapping(item) for item in _list(value.get("items")))
    else:
        yield value


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
