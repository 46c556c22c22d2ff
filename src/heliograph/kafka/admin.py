"""Administration of one cluster: what is there, what we may do, and the few changes that mirroring needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from kafka.protocol.admin import (
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeQuorumRequest,
    IncrementalAlterConfigsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.producer import EndTxnRequest

from heliograph.errors import BrokerRefused, BrokerUnavailable
from heliograph.kafka import acls, leftovers, reading
from heliograph.kafka.access import Access
from heliograph.kafka.acls import Acl
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.connection import Connection, Loop
from heliograph.kafka.fetching import READ_COMMITTED, READ_UNCOMMITTED
from heliograph.kafka.network import GROUP, TRANSACTION, Network, check, error_name
from heliograph.kafka.reading import Reachable, list_reachable
from heliograph.kafka.topics import (
    NewTopic,
    OpenTransaction,
    Operation,
    Operations,
    Outcome,
    SettingSource,
    Status,
    TopicInfo,
    TopicSetting,
)
from heliograph.model import TopicPartition

_QUORUM_TOPIC = "__cluster_metadata"
_TOPIC = 2  # the kind of resource in requests about settings
_SET, _DELETE = 0, 1
_TOPICS_A_REQUEST = 500
_METADATA_VERSION = 10  # rights on the cluster come with versions 8 to 10, topic ids from 10 on

_UNKNOWN_TOPIC = 3
_TOPIC_DENIED = 29
_GROUP_DENIED = 30
_CLUSTER_DENIED = 31
_TOPIC_EXISTS = 36
_INVALID_PARTITIONS = 37
_EVEN_OF_MISSING_GROUPS = 5  # later versions of the request tell no rights on groups that do not exist
_DELETED_BY_NAME = 5  # later versions of the request are about topic ids
_TRANSACTIONAL_ID_DENIED = 53
_NO_AUTHORIZER = 54

_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")


class Admin(Closeable):
    """Asks one cluster, over connections that are made when first needed; for one thread at a time."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._brokers: _Brokers | None = None

    def close(self) -> None:
        """Close all connections."""
        if self._brokers is not None:
            self._brokers.loop.close()
        self._brokers = None

    # -- the cluster ---------------------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """The id that the cluster gave itself."""
        return str(self._metadata([]).cluster_id)

    def broker_count(self) -> int:
        """How many brokers are alive."""
        return len(self._metadata([]).brokers)

    def broker_ids(self) -> list[int]:
        """The brokers that are alive."""
        return sorted(int(broker.node_id) for broker in self._metadata([]).brokers)

    def versions(self) -> list[str]:
        """The releases of Kafka that the brokers run, told from the requests that they know; oldest first."""
        releases = {self._release(broker.node_id) for broker in self._metadata([]).brokers}
        return [".".join(map(str, release)) for release in sorted(releases)]

    def controller_time_ms(self) -> int | None:
        """The clock of the controller, which tells its own time as when it was last up to date; None if it may not."""
        topic = DescribeQuorumRequest.TopicData(
            topic_name=_QUORUM_TOPIC, partitions=[DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)]
        )
        try:
            answer = self._ask("describe the quorum", DescribeQuorumRequest(topics=[topic]))
        except (BrokerRefused, BrokerUnavailable):  # it did answer before: a cluster without KRaft knows no quorum
            return None
        found = [partition for item in answer.topics for partition in item.partitions]
        times = [
            int(voter.last_caught_up_timestamp)
            for partition in found
            for voter in partition.current_voters
            if voter.replica_id == partition.leader_id
        ]
        return next((time_ms for time_ms in times if time_ms > 0), None)

    def cluster_rights(self) -> Operations:
        """What we may do with the cluster as a whole."""
        return _operations(self._metadata([], with_rights=True).authorized_operations)

    # -- topics --------------------------------------------------------------------------------------------

    def topics(self, names: Collection[str] | None = None) -> dict[str, TopicInfo]:
        """All topics that we may see, or those of the given names that exist."""
        hidden = (_UNKNOWN_TOPIC, _TOPIC_DENIED)
        found = (topic for topic in self._described(names) if topic.partitions and topic.error_code not in hidden)
        return {topic.name: _topic_info(topic) for topic in found}

    def topic_rights(self, names: Collection[str]) -> dict[str, Operations]:
        """What we may do with topics, whether they exist or not."""
        return {
            topic.name: frozenset() if topic.error_code == _TOPIC_DENIED else _operations(topic.authorized_operations)
            for topic in self._described(names, with_rights=True)
        }

    def create_topics(self, topics: Sequence[NewTopic], only_try: bool = False) -> dict[str, Outcome]:
        """Create topics, or only ask whether that would work. One that exists already is fine."""
        results: dict[str, Outcome] = {}
        for some in _chunks(topics):
            request = CreateTopicsRequest(
                topics=[_creatable(topic) for topic in some],
                timeout_ms=self.access.request_timeout_ms,
                validate_only=only_try,
            )
            answer = self._ask("create topics", request, self._controller())
            results |= {topic.name: _creation(topic) for topic in answer.topics}
        return results

    def create_topic(self, topic: NewTopic) -> Outcome:
        """Create one topic. One that exists already is fine."""
        return self.create_topics([topic])[topic.name]

    def add_partitions(self, totals: Mapping[str, int]) -> dict[str, Outcome]:
        """Let topics grow to so many partitions. Those that have as many or more stay as they are."""
        topic_class = CreatePartitionsRequest.CreatePartitionsTopic
        results: dict[str, Outcome] = {}
        for some in _chunks(sorted(totals.items())):
            request = CreatePartitionsRequest(
                topics=[topic_class(name=name, count=total, assignments=None) for name, total in some],
                timeout_ms=self.access.request_timeout_ms,
                validate_only=False,
            )
            answer = self._ask("add partitions", request, self._controller())
            results |= {item.name: _outcome(item, _INVALID_PARTITIONS) for item in answer.results}
        return results

    def delete_topics(self, names: Collection[str]) -> dict[str, Outcome]:
        """Delete topics. One that is gone already is fine."""
        results: dict[str, Outcome] = {}
        for some in _chunks(sorted(names)):
            request = DeleteTopicsRequest(topic_names=list(some), timeout_ms=self.access.request_timeout_ms)
            answer = self._ask("delete topics", request, self._controller(), highest=_DELETED_BY_NAME)
            results |= {item.name: _outcome(item, _UNKNOWN_TOPIC) for item in answer.responses}
        return results

    def wait_for_topics(self, partitions: Mapping[str, int], patience: float = 10) -> list[str]:
        """Wait until so many partitions of each topic have a leader; the topics that still lack some."""
        deadline = time.monotonic() + patience
        waiting = dict(partitions)
        while waiting:
            led = {topic.name: _led_partitions(topic) for topic in self._described(waiting)}
            waiting = {name: count for name, count in waiting.items() if led.get(name, 0) < count}
            if time.monotonic() > deadline:
                break
            time.sleep(0.05 if waiting else 0)
        return sorted(waiting)

    # -- settings ------------------------------------------------------------------------------------------

    def topic_settings(
        self, names: Collection[str], broker_id: int | None = None
    ) -> dict[str, dict[str, TopicSetting]]:
        """All settings of topics, as any broker or that one has them.

        A topic that is gone is left out, one that we may not ask about is an error.
        """
        resource_class = DescribeConfigsRequest.DescribeConfigsResource
        found: dict[str, dict[str, TopicSetting]] = {}
        for some in _chunks(sorted(names)):
            resources = [
                resource_class(resource_type=_TOPIC, resource_name=name, configuration_keys=None) for name in some
            ]
            answer = self._ask("describe settings", DescribeConfigsRequest(resources=resources), broker_id)
            for result in answer.results:
                if result.error_code != _UNKNOWN_TOPIC:
                    where = f"{self.access.alias}: describe settings of topic {result.resource_name}"
                    check(where, result.error_code)
                    found[result.resource_name] = {item.name: _setting(item) for item in result.configs}
        return found

    def alter_topic_settings(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, Outcome]:
        """Set some settings of topics and leave the others alone; None takes one back to its default."""
        resource_class = IncrementalAlterConfigsRequest.AlterConfigsResource
        results: dict[str, Outcome] = {}
        for some in _chunks(sorted(changes.items())):
            resources = [
                resource_class(resource_type=_TOPIC, resource_name=name, configs=_alterations(settings))
                for name, settings in some
            ]
            request = IncrementalAlterConfigsRequest(resources=resources, validate_only=False)
            answer = self._ask("alter settings", request)
            results |= {item.resource_name: _outcome(item) for item in answer.responses}
        return results

    # -- access rights -------------------------------------------------------------------------------------

    def topic_acls(self, broker_id: int | None = None) -> frozenset[Acl] | None:
        """All ACLs on topics, as any broker or that one has them; None if the cluster has no authorizer."""
        answer = self._ask("describe ACLs", acls.all_on_topics(), broker_id)
        if answer.error_code == _NO_AUTHORIZER:
            return None
        check(f"{self.access.alias}: describe ACLs", answer.error_code)
        return frozenset(acls.described(answer))

    def create_acls(self, wanted: Collection[Acl]) -> dict[Acl, Outcome]:
        """Add ACLs; those that exist already stay as they are."""
        results: dict[Acl, Outcome] = {}
        for some in _chunks(sorted(wanted, key=str)):
            request = CreateAclsRequest(creations=[acls.creation(acl) for acl in some])
            answer = self._ask("create ACLs", request)
            results |= {acl: _outcome(item) for acl, item in zip(some, answer.results, strict=True)}
        return results

    def delete_acls(self, unwanted: Collection[Acl]) -> dict[Acl, Outcome]:
        """Remove ACLs; those that do not exist are fine."""
        results: dict[Acl, Outcome] = {}
        for some in _chunks(sorted(unwanted, key=str)):
            request = DeleteAclsRequest(filters=[acls.deletion(acl) for acl in some])
            answer = self._ask("delete ACLs", request)
            results |= {acl: _outcome(item) for acl, item in zip(some, answer.filter_results, strict=True)}
        return results

    # -- offsets and transactions --------------------------------------------------------------------------

    def earliest_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that each partition still has."""
        return self._offsets(partitions, reading.EARLIEST)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition gets."""
        return self._offsets(partitions, reading.LATEST)

    def stable_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of each partition up to which all transactions have ended; its end if none is open."""
        return self._offsets(partitions, reading.LATEST, READ_COMMITTED)

    def reachable_offsets(self, partitions: Collection[TopicPartition], point: int) -> Reachable:
        """The first or next offsets (`EARLIEST`, `LATEST`) of the partitions that can be asked; why not of others."""
        wanted = dict.fromkeys(partitions, point)
        return self._over_connections(lambda brokers: list_reachable(brokers, wanted)) if wanted else Reachable({}, {})

    def open_transactions(self, partitions: Collection[TopicPartition]) -> list[OpenTransaction]:
        """The transactions that are open in partitions, as far as we may ask about them."""

        def ask(brokers: _Brokers) -> list[leftovers.ProducerState]:
            brokers.refresh({where.topic for where in partitions})
            return [state for state in leftovers.describe(brokers, partitions) if state.is_open]

        states = self._over_connections(ask) if partitions else []
        names = {item.producer_id: item.transactional_id for item in self._transactions()} if states else {}
        return [OpenTransaction(*state.where, state.producer_id, names.get(state.producer_id, "")) for state in states]

    def transactional_topics(self, partitions: Collection[TopicPartition]) -> set[str]:
        """The topics that producers write to in transactions, and those that we may not ask about."""

        def ask(brokers: _Brokers) -> set[str]:
            brokers.refresh({where.topic for where in partitions})
            return leftovers.transactional_topics(brokers, partitions)

        return self._over_connections(ask) if partitions else set()

    def transactional_ids(self, prefix: str) -> set[str]:
        """The transactional ids that the cluster knows and that begin so."""
        return {item.transactional_id for item in self._transactions() if item.transactional_id.startswith(prefix)}

    def transactional_id_rights(self, name: str) -> Operations:
        """Which of Describe and Write we may do with a transactional id; ask for one that nobody uses."""
        # Nothing is there to be aborted, but the broker looks at our rights first.
        request = EndTxnRequest(transactional_id=name, producer_id=0, producer_epoch=0, committed=False)

        def ask(brokers: _Brokers) -> int:
            coordinator = brokers.coordinator(name, TRANSACTION)
            version = coordinator.version(EndTxnRequest, highest=3)
            return int(coordinator.call(request, version).error_code)

        try:
            code = self._over_connections(ask)
        except BrokerRefused as error:
            if error.code != _TRANSACTIONAL_ID_DENIED:
                raise
            return frozenset()
        may_write = code != _TRANSACTIONAL_ID_DENIED
        return frozenset({Operation.Describe, Operation.Write} if may_write else {Operation.Describe})

    def group_rights(self, name: str) -> Operations:
        """What we may do with a consumer group, whether it exists or not."""
        request = DescribeGroupsRequest(groups=[name], include_authorized_operations=True)

        def ask(brokers: _Brokers) -> Any:
            coordinator = brokers.coordinator(name, GROUP)
            version = coordinator.version(DescribeGroupsRequest, highest=_EVEN_OF_MISSING_GROUPS)
            return coordinator.call(request, version).groups[0]

        try:
            group = self._over_connections(ask)
        except BrokerRefused as error:
            if error.code != _GROUP_DENIED:
                raise
            return frozenset()
        return frozenset() if group.error_code == _GROUP_DENIED else _operations(group.authorized_operations)

    # -- asking --------------------------------------------------------------------------------------------

    def _transactions(self) -> Iterator[Any]:
        for broker_id in self.broker_ids():
            request = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
            answer = self._ask("list transactions", request, broker_id)
            check(f"{self.access.alias}: list transactions", answer.error_code)
            yield from answer.transaction_states

    def _offsets(
        self, partitions: Collection[TopicPartition], point: int, isolation: int = READ_UNCOMMITTED
    ) -> dict[TopicPartition, int]:
        def ask(brokers: _Brokers) -> dict[TopicPartition, int]:
            brokers.refresh({where.topic for where in partitions})
            return reading.list_many(brokers, dict.fromkeys(partitions, point), isolation)

        return self._over_connections(ask) if partitions else {}

    def _described(self, names: Collection[str] | None, with_rights: bool = False) -> Iterator[Any]:
        if names is None:
            yield from self._metadata(None, with_rights).topics
            return
        for some in _chunks(sorted(names)):
            yield from self._metadata(some, with_rights).topics

    def _metadata(self, names: Sequence[str] | None, with_rights: bool = False) -> Any:
        topic_class = MetadataRequest.MetadataRequestTopic
        request = MetadataRequest(
            topics=None if names is None else [topic_class(topic_id=None, name=name) for name in names],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=with_rights,
            include_topic_authorized_operations=with_rights,
        )
        return self._ask("describe the cluster", request, highest=_METADATA_VERSION)

    def _controller(self) -> int:
        return int(self._metadata([]).controller_id)

    def _release(self, broker_id: int) -> tuple[int, ...]:
        request = ApiVersionsRequest(client_software_name="heliograph", client_software_version="0")
        answer = self._ask("tell its versions", request, broker_id, highest=3)
        known = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
        return tuple(BrokerVersionData(api_versions=known).broker_version)

    def _ask(self, what: str, request: ApiMessage, broker_id: int | None = None, highest: int | None = None) -> Any:
        def ask(brokers: _Brokers) -> Any:
            connection = brokers.anyone() if broker_id is None else brokers.connection(broker_id)
            version = connection.version(type(request), request.max_version if highest is None else highest)
            return connection.call(request, version)

        try:
            return self._over_connections(ask)
        except BrokerUnavailable as error:
            raise BrokerUnavailable(f"cannot {what}: {error}") from error

    def _over_connections(self, ask: Callable[[_Brokers], _Answer]) -> _Answer:
        """Ask over the connections there are; should they have died of idleness, once more over new ones."""
        if self._brokers is not None:
            try:
                return ask(self._brokers)
            except BrokerUnavailable:
                self.close()
        self._brokers = _Brokers(self.access)
        try:
            return ask(self._brokers)
        except BrokerUnavailable:
            self.close()
            raise


class _Brokers(Network):
    """The brokers of the cluster; those that no answer has named yet are looked up."""

    def __init__(self, access: Access) -> None:
        self.loop = Loop()
        super().__init__(self.loop, access)

    def connection(self, broker_id: int) -> Connection:
        if broker_id not in self._addresses:
            self.refresh(())
        return super().connection(broker_id)


def _chunks(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _TOPICS_A_REQUEST):
        yield items[start : start + _TOPICS_A_REQUEST]


def _operations(codes: Iterable[int] | None) -> Operations:
    known = {operation.value for operation in Operation}
    return frozenset(Operation(code) for code in codes or () if code in known)


def _topic_info(topic: Any) -> TopicInfo:
    replicas = max((len(partition.replica_nodes) for partition in topic.partitions), default=0)
    topic_id = topic.topic_id or UUID(int=0)
    return TopicInfo(topic.name, topic_id, len(topic.partitions), replicas, bool(topic.is_internal))


def _led_partitions(topic: Any) -> int:
    return sum(partition.leader_id >= 0 for partition in topic.partitions)


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    topic_class = CreateTopicsRequest.CreatableTopic
    setting_class = topic_class.CreatableTopicConfig
    return topic_class(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=[],
        configs=[setting_class(name=name, value=value) for name, value in sorted(topic.settings.items())],
    )


def _creation(topic: Any) -> Outcome:
    outcome = _outcome(topic, _TOPIC_EXISTS)
    return replace(outcome, settings={item.name: item.value for item in topic.configs or ()})


def _outcome(result: Any, harmless: int = 0) -> Outcome:
    code = int(result.error_code)
    if code == 0:
        return Outcome(Status.DONE)
    status = Status.ALREADY if code == harmless else Status.REFUSED
    told = result.error_message if code != _CLUSTER_DENIED else ""  # there, brokers print the whole request
    return Outcome(status, told or error_name(code), code)


def _setting(item: Any) -> TopicSetting:
    source = SettingSource(item.config_source)
    return TopicSetting(item.value, source, bool(item.is_sensitive), bool(item.read_only))


def _alterations(settings: Mapping[str, str | None]) -> list[Any]:
    change_class = IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig
    return [
        change_class(name=name, config_operation=_DELETE if value is None else _SET, value=value)
        for name, value in sorted(settings.items())
    ]
