"""Carries the rights of readers over to mirrored topics."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from heliograph.config.flow import FlowConfig
from heliograph.config.problem import Severity
from heliograph.errors import BrokerRefused
from heliograph.kafka.access import access_for
from heliograph.kafka.acls import ALL_TOPICS, EVERYONE, Acl, AllOperations, Pattern, Permission
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import Operation, Status
from heliograph.sync.fitness import Finding
from heliograph.sync.rights import principal
from heliograph.sync.topics import mirrored_names

log = logging.getLogger(__name__)

_ENABLED = "sync.topic.acls.enabled"
_PREFIXED = "sync.topic.acls.prefixed.enabled"


@dataclass(frozen=True)
class AclDrift:
    """The ACLs that the target lacks, those of the source that cannot be carried over, and why none were compared."""

    missing: tuple[Acl, ...] = ()
    left_out: tuple[Acl, ...] = ()
    skipped: str = ""


@dataclass(frozen=True)
class AclResult:
    """What became of the ACLs: created, refused with the reason, or left out; `skipped` tells why none were tried."""

    created: tuple[Acl, ...]
    refused: Mapping[Acl, str]
    left_out: tuple[Acl, ...]
    skipped: str


@dataclass(frozen=True)
class CarriedAcls:
    """The ACLs that the target should have, and those of the source that cannot be carried over.

    Those are about more than one topic, or forbid everything to everyone, the mirror included.
    """

    wanted: frozenset[Acl]
    left_out: frozenset[Acl]


def carried_acls(flow: FlowConfig, acls: Collection[Acl], topics: Collection[str]) -> CarriedAcls:
    """What the ACLs of the source come to on the target. The mirror alone writes there, so nobody else may.

    What keeps everyone from writing to the source, as the fence of a switchover does, would keep the mirror out there.
    Topics are those of the source: an ACL on all that begin alike counts if one of them is mirrored.
    """
    barring = {acl for acl in acls if _bars_everyone(acl)}
    carried = {reader for acl in set(acls) - barring if (reader := _for_readers(acl))}
    single = {acl for acl in carried if acl.pattern is Pattern.LITERAL and acl.topic != ALL_TOPICS}
    names = mirrored_names(flow, {*topics, *(acl.topic for acl in single)})
    broad = {acl for acl in carried - single if _concerns(acl, names)}
    prefixed = {acl: _remote_prefixed(flow, acl) for acl in broad} if flow.get(_PREFIXED) is True else {}
    return CarriedAcls(
        frozenset(replace(acl, topic=names[acl.topic]) for acl in single if acl.topic in names)
        | {remote for remote in prefixed.values() if remote},
        frozenset(acl for acl in broad if not prefixed.get(acl))
        | {acl for acl in barring if acl.operation is AllOperations.All and _concerns(acl, names)},
    )


def examine_acls(flow: FlowConfig) -> list[Finding]:
    """Whether rights on topics would be copied, for a flow whose clusters answer; changes nothing."""
    if not flow.enabled:
        return []
    if not flow.setting(_ENABLED).origin.is_given:
        message = f"{_ENABLED} is not set: rights on topics are not copied; MirrorMaker 2 would copy them"
        return [Finding(Severity.NOTE, flow.name, message, "set it to true or false")]
    with (
        Admin(access_for(flow.source, "admin")) as source,
        Admin(access_for(flow.target, "admin")) as target,
    ):
        sync = AclSync(flow, source, target)
        return sync.obstacles() if sync.is_enabled else []


class AclSync:
    """Creates on the target what readers of mirrored topics need there; never deletes."""

    def __init__(self, flow: FlowConfig, source: Admin, target: Admin) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._told: set[str] = set()

    @property
    def is_enabled(self) -> bool:
        """Whether the file asks for it; if not, nothing is compared and nothing created."""
        return self._flow.get(_ENABLED) is True

    def drift(self) -> AclDrift:
        """Compare both sides; changes nothing."""
        if not self.is_enabled:
            return AclDrift()
        try:
            ours, theirs = self._source.topic_acls(), self._target.topic_acls()
        except BrokerRefused as error:
            return AclDrift(skipped=str(error))
        if ours is None or theirs is None:
            alias = (self._source if ours is None else self._target).access.alias
            return AclDrift(skipped=f"{alias} has no authorizer")
        carried = carried_acls(self._flow, ours, self._source.topics())
        return AclDrift(_sorted(carried.wanted - theirs), _sorted(carried.left_out))

    def obstacles(self) -> list[Finding]:
        """Why rights would not be copied, although the file asks for it."""
        lacking = [*_lacking(self._source, Operation.Describe), *_lacking(self._target, Operation.Alter)]
        skipped = "" if lacking else self.drift().skipped
        reasons = [*lacking, (skipped, "")] if skipped else lacking
        before = "rights on topics would not be copied"
        return [Finding(Severity.WARNING, self._flow.name, f"{before}: {reason}", hint) for reason, hint in reasons]

    def run(self) -> AclResult:
        """Compare both sides and create what the target lacks."""
        drift = self.drift()
        if drift.skipped:
            self._tell_once(f"{self._flow.name}: rights on topics are not copied: {drift.skipped}")
        outcomes = self._target.create_acls(drift.missing)
        refused = {acl: outcome.reason for acl, outcome in outcomes.items() if outcome.status is Status.REFUSED}
        created = tuple(acl for acl in drift.missing if acl not in refused)
        return AclResult(created, refused, drift.left_out, drift.skipped)

    def _tell_once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            log.warning(message)


def _lacking(admin: Admin, operation: Operation) -> Iterator[tuple[str, str]]:
    """What we may not do with a cluster but would have to, and the command that allows it."""
    if operation not in admin.cluster_rights():
        who = principal(admin.access)
        command = f"kafka-acls --add --cluster --operation {operation.name} --allow-principal {who}"
        yield f"{who} lacks {operation.name} on the cluster {admin.access.alias}", command


def _bars_everyone(acl: Acl) -> bool:
    """Whether an ACL forbids writing to all, from some host at least; on the target it would bar the mirror alone."""
    forbids_writing = acl.permission is Permission.DENY and acl.operation in (Operation.Write, AllOperations.All)
    return forbids_writing and acl.principal == EVERYONE


def _concerns(acl: Acl, topics: Collection[str]) -> bool:
    if acl.pattern is Pattern.LITERAL and acl.topic != ALL_TOPICS:
        return acl.topic in topics
    return any(topic.startswith(_beginning(acl)) for topic in topics)


def _for_readers(acl: Acl) -> Acl | None:
    """What is left of an ACL where only the mirror writes; None if nothing is."""
    if acl.permission is Permission.DENY:
        return acl
    if acl.operation is AllOperations.All:
        return replace(acl, operation=Operation.Read)
    return None if acl.operation is Operation.Write else acl


def _beginning(acl: Acl) -> str:
    return acl.topic if acl.pattern is Pattern.PREFIXED else ""


def _remote_prefixed(flow: FlowConfig, acl: Acl) -> Acl | None:
    """The ACL on the target; None where topics that begin alike on the source do not do so there."""
    policy, alias, prefix = flow.replication_policy, flow.source.alias, _beginning(acl)
    remotes = {policy.format_remote_topic(alias, prefix + letter).removesuffix(letter) for letter in "xy"}
    remote = remotes.pop()
    return replace(acl, topic=remote, pattern=Pattern.PREFIXED) if remote and not remotes else None


def _sorted(acls: Collection[Acl]) -> tuple[Acl, ...]:
    return tuple(sorted(acls, key=str))
