"""Access control lists of topics: who may do what, or must not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from heliograph.kafka.topics import Operation

ALL_TOPICS = "*"
EVERYONE = "User:*"
_TOPIC = 2  # the kind of resource in requests about access
_ANY = 1


class AllOperations(Enum):
    """Stands for every operation at once."""

    All = 2


AclOperation: TypeAlias = Operation | AllOperations


class Permission(Enum):
    """Whether an ACL grants or forbids; what is forbidden stays so, whatever else is granted."""

    DENY = 2
    ALLOW = 3


class Pattern(Enum):
    """Whether an ACL is about one topic, or about all that begin with a name."""

    LITERAL = 3
    PREFIXED = 4


@dataclass(frozen=True)
class Acl:
    """What one principal may or must not do with one topic, or with all whose names begin alike."""

    topic: str
    principal: str
    operation: AclOperation
    permission: Permission = Permission.ALLOW
    host: str = "*"
    pattern: Pattern = Pattern.LITERAL

    @property
    def rule(self) -> str:
        """The ACL without its topic, in words."""
        where = "" if self.pattern is Pattern.LITERAL else ", for all topics that begin so"
        return f"{self.permission.name.lower()} {self.principal} {self.operation.name} from host {self.host}{where}"

    def __str__(self) -> str:
        return f"{self.topic}: {self.rule}"


def all_on_topics() -> DescribeAclsRequest:
    """The question for every ACL on topics."""
    return DescribeAclsRequest(
        resource_type_filter=_TOPIC,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )


def described(answer: Any) -> Iterator[Acl]:
    """The ACLs in the answer to `all_on_topics`, but for kinds that no Kafka of today has."""
    for resource in answer.resources:
        for item in resource.acls:
            try:
                permission, pattern = Permission(item.permission_type), Pattern(resource.pattern_type)
                operation = _operation(item.operation)
            except ValueError:
                continue
            yield Acl(resource.resource_name, item.principal, operation, permission, item.host, pattern)


def creation(acl: Acl) -> CreateAclsRequest.AclCreation:
    """An ACL as a part of the request that creates it."""
    return CreateAclsRequest.AclCreation(
        resource_type=_TOPIC,
        resource_name=acl.topic,
        resource_pattern_type=acl.pattern.value,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation.value,
        permission_type=acl.permission.value,
    )


def deletion(acl: Acl) -> DeleteAclsRequest.DeleteAclsFilter:
    """An ACL, and no other, as a part of the request that deletes it."""
    return DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=_TOPIC,
        resource_name_filter=acl.topic,
        pattern_type_filter=acl.pattern.value,
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=acl.operation.value,
        permission_type=acl.permission.value,
    )


def _operation(code: int) -> AclOperation:
    return AllOperations.All if code == AllOperations.All.value else Operation(code)
