"""Compares partitions of two clusters, record by record."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest

from kafka import KafkaAdminClient

from heliograph.model import TopicPartition
from tests.checker.classification import changed_fields, classify
from tests.checker.finding import Finding, Kind
from tests.checker.report import Report
from tests.checker.stock_reader import CommittedReader, Seen

Servers = str | Sequence[str]
Pairs = Mapping[TopicPartition, TopicPartition]


class SameClusterError(AssertionError):
    """Source and target are one cluster, so that a comparison would prove nothing."""


def compare(source: Servers, target: Servers, pairs: Pairs) -> Report:
    """Every difference between source partitions and their copies: content, order and count."""
    _expect_two_clusters(source, target)
    with CommittedReader(source) as here, CommittedReader(target) as there:
        return _compared({pair[0]: (here.read(pair[0]), there.read(pair[1])) for pair in pairs.items()})


def compare_when_level(source: Servers, target: Servers, pairs: Pairs, seconds: float) -> Report:
    """The same, as soon as every copy has as many records as its original, or when the time is over.

    The source must be at rest. Each side is read once, and the target further on while it grows.
    """
    _expect_two_clusters(source, target)
    with CommittedReader(source) as here, CommittedReader(target) as there:
        originals = {where: list(here.read(where)) for where in pairs}
        copied: dict[TopicPartition, list[Seen]] = {where: [] for where in pairs}
        deadline = time.monotonic() + seconds
        while True:
            is_over = time.monotonic() > deadline
            for where, copy in pairs.items():
                if is_over or len(copied[where]) < len(originals[where]):
                    copied[where] += there.read(copy)
            if is_over or all(len(copied[where]) >= len(found) for where, found in originals.items()):
                break
            time.sleep(0.1)
        for where, copy in pairs.items():  # whatever has come in the meantime is too much
            copied[where] += there.read(copy)
    return _compared({where: (iter(found), iter(copied[where])) for where, found in originals.items()})


def _compared(sides: Mapping[TopicPartition, tuple[Iterator[Seen], Iterator[Seen]]]) -> Report:
    findings: list[Finding] = []
    record_count = 0
    for where, (here, there) in sides.items():
        pair = _Pair(where, here, there)
        findings += pair.differences()
        record_count += pair.record_count
    return Report(findings, record_count)


def compare_compacted(source: Servers, target: Servers, pairs: Pairs) -> Report:
    """Every difference between the last records of each key; what compaction may remove does not count."""
    _expect_two_clusters(source, target)
    findings: list[Finding] = []
    record_count = 0
    with CommittedReader(source) as sources, CommittedReader(target) as targets:
        for source_partition, target_partition in pairs.items():
            here = _last_per_key(sources.read(source_partition))
            there = _last_per_key(targets.read(target_partition))
            findings += _differing_keys(source_partition, here, there)
            record_count += len(here)
    return Report(findings, record_count)


class _Pair:
    """One source partition beside its copy."""

    def __init__(self, name: TopicPartition, source: Iterator[Seen], target: Iterator[Seen]) -> None:
        self._name = name
        self._source = source
        self._target = target
        self.record_count = 0

    def differences(self) -> list[Finding]:
        """Of equal records only hashes are kept; from the first difference on, both rests are looked at whole."""
        passed: set[int] = set()
        for here, there in zip_longest(self._source, self._target):
            if here is None or there is None or here.content != there.content:
                rest = [item for item in (here, *self._source) if item is not None]
                self.record_count += len(rest)
                copied = [item for item in (there, *self._target) if item is not None]
                return list(classify(self._name, rest, copied, passed))
            passed.add(hash(here.content))
            self.record_count += 1
        return []


def _expect_two_clusters(source: Servers, target: Servers) -> None:
    ids = [_cluster_id(servers) for servers in (source, target)]
    if ids[0] == ids[1]:
        raise SameClusterError(f"source and target are the same cluster, {ids[0]}")


def _cluster_id(servers: Servers) -> str:
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        return str(admin.describe_cluster()["cluster_id"])


def _last_per_key(seen: Iterator[Seen]) -> dict[bytes | None, Seen]:
    last = {item.content.key: item for item in seen}
    return {key: item for key, item in last.items() if item.content.value is not None}


def _differing_keys(
    name: TopicPartition, source: Mapping[bytes | None, Seen], target: Mapping[bytes | None, Seen]
) -> Iterator[Finding]:
    for key, here in source.items():
        there = target.get(key)
        if there is None:
            yield Finding(Kind.LOST, name, here.offset, None)
        elif here.content != there.content:
            yield Finding(Kind.ALTERED, name, here.offset, there.offset, changed_fields(here.content, there.content))
    for key, there in target.items():
        if key not in source:
            yield Finding(Kind.UNEXPECTED, name, None, there.offset)
