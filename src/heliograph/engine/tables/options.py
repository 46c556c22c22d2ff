"""The options of `heliograph.records`: those of Spark's own Kafka source, and where secrets come from instead."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heliograph.client.settings import read_settings
from heliograph.config.mirror_config import load
from heliograph.errors import StartError
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

_CLIENT = "kafka."
_SERVERS = "kafka.bootstrap.servers"
_SECRET = re.compile(r"password|secret|jaas|token|credential|(^|\.)key$|keystore\.(key|certificate)", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]+\}")
_PLACES = {"earliest": EARLIEST, "latest": LATEST}
_READING = {
    "subscribe", "subscribepattern", "assign", "startingoffsets", "endingoffsets", "startingtimestamp",
    "endingtimestamp", "maxoffsetspertrigger", "minpartitions", "includeheaders", "failondataloss",
}  # fmt: skip
_WRITING = {"topic", "compression", "transactiontimeoutms", "markersreplicationfactor", "includeheaders"}
_ACCESS = {"configfile", "cluster"}
_SPARKS_OWN = {"path", "checkpointlocation", "queryname"}

Places = Mapping[TopicPartition, int]


class OptionRefused(StartError):
    """An option of `heliograph.records` cannot be used; tells which and why."""


@dataclass(frozen=True)
class Selection:
    """Which partitions are read: of these topics, of topics whose names match, or exactly these."""

    topics: Sequence[str] = ()
    pattern: str = ""
    partitions: Collection[TopicPartition] = ()


class Options:
    """The options of one reader or writer, whose names Spark writes in small letters or not."""

    def __init__(self, given: Mapping[str, str], is_reading: bool) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        known = _ACCESS | _SPARKS_OWN | (_READING if is_reading else _WRITING)
        for name in self._given:
            if _SECRET.search(name) and not _REFERENCE.fullmatch(self._given[name]):
                raise OptionRefused(
                    f"{name}: Spark shows options in its plans, logs and pages, so no secret may be one; name an "
                    "mm2.properties file with the option configFile, and one of its clusters with the option cluster"
                )
            if name not in known and not name.startswith(_CLIENT):
                raise OptionRefused(f"{name}: there is no such option; there are {', '.join(sorted(known))}")

    def access(self, role: str) -> Access:
        """How to reach the cluster."""
        file, alias = self._given.get("configfile"), self._given.get("cluster")
        if bool(file) != bool(alias):
            raise OptionRefused("configFile and cluster: one needs the other")
        if file and alias:
            if _SERVERS in self._given:
                raise OptionRefused(f"{_SERVERS}: the cluster is given by configFile already")
            clusters = load(file).clusters
            if alias not in clusters:
                raise OptionRefused(f"cluster: {file} names {', '.join(clusters)}, not {alias}")
            return access_for(clusters[alias], role)
        if _SERVERS not in self._given:
            raise OptionRefused(f"{_SERVERS}: is missing; or name a file and a cluster with configFile and cluster")
        client = {name.removeprefix(_CLIENT): value for name, value in self._given.items() if name.startswith(_CLIENT)}
        return read_settings(client).consumer

    def selection(self) -> Selection:
        """What is read."""
        chosen = [name for name in ("subscribe", "subscribepattern", "assign") if name in self._given]
        if len(chosen) != 1:
            raise OptionRefused("exactly one of subscribe, subscribePattern and assign is needed")
        text = self._given[chosen[0]]
        if chosen[0] == "subscribe":
            return Selection(topics=[name.strip() for name in text.split(",") if name.strip()])
        if chosen[0] == "subscribepattern":
            return Selection(pattern=text)
        numbers = self._json("assign")
        return Selection(partitions=[TopicPartition(topic, int(n)) for topic, some in numbers.items() for n in some])

    def starting(self, default: str) -> int | Places:
        """Where to begin: a place for all partitions, or one for each."""
        return self._places("startingoffsets", "startingtimestamp", default)

    def ending(self) -> int | Places:
        """Where to end, in a batch."""
        places = self._places("endingoffsets", "endingtimestamp", "latest")
        if places == EARLIEST:
            raise OptionRefused("endingOffsets: a batch cannot end at the earliest offset")
        return places

    def number(self, name: str, default: int) -> int:
        """A whole number above 0, or the default."""
        text = self._given.get(name.lower())
        if text is None:
            return default
        if not text.isdecimal() or not int(text):
            raise OptionRefused(f"{name}: must be a number above 0, not {text!r}")
        return int(text)

    def text(self, name: str) -> str | None:
        """The text of an option, if it is given."""
        return self._given.get(name.lower())

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        text = self._given.get(name.lower(), str(default)).lower()
        if text not in ("true", "false"):
            raise OptionRefused(f"{name}: must be true or false, not {text!r}")
        return text == "true"

    def _places(self, offsets: str, timestamp: str, default: str) -> int | Places:
        time_text = self._given.get(timestamp)
        if time_text is not None:
            if not time_text.isdecimal():
                raise OptionRefused(f"{timestamp}: must be milliseconds since 1970, not {time_text!r}")
            return int(time_text)
        text = self._given.get(offsets, default)
        if text.lower() in _PLACES:
            return _PLACES[text.lower()]
        return {
            TopicPartition(topic, int(number)): int(offset)
            for topic, some in self._json(offsets).items()
            for number, offset in some.items()
        }

    def _json(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self._given[name])
        except ValueError as error:
            raise OptionRefused(f"{name}: is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise OptionRefused(f'{name}: must look like {{"topic": {{"0": 23}}}}')
        return found
