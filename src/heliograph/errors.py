"""All errors of Heliograph are one tree. Each class carries the exit code of a command that it ends.

HeliographError           1  something failed while running
├── ConfigError           2  the configuration is wrong: every problem at once
├── QueryRefused          2  transform.sql is not a query that a flow can run
├── StartError            3  could not start
│   ├── JavaMissing          no Java 17 or newer
│   ├── DownloadFailed       jars could not be fetched
│   └── ProcessFailed        a child process (broker, MirrorMaker 2) ended or never got ready
├── ClusterError          1  trouble with a cluster
│   ├── PartitionFailed      one partition cannot go on; the others can
│   ├── BrokerUnavailable    no connection, or no answer in time: tried again
│   │   └── TargetCutBack    the target has lost what it had: told by the next attempt
│   ├── TransformWaits       a transform lacks something that may be there in a moment: tried again
│   ├── BrokerRefused        the broker answered with an error code
│   │   └── PartitionsWait   partitions of the target take nothing for now: set aside if that lasts
│   ├── AuthenticationFailed wrong credentials or certificates: tried again with fresh secrets
│   ├── FenceFailed          topics cannot be closed to producers, or not be opened again
│   ├── MalformedRecord      a batch, or a record of MirrorMaker 2's topics, is not what it should be
│   │   └── NewerFormat    5  a newer version of Heliograph has written it: this one must not go on beside it
│   └── Fenced               a newer producer has taken our transactional id
│       └── TakenOver     5  the flow belongs to another mirror now
├── LoopFailed            1  what a lane's connections stand for is lost: carries the ClusterError
├── DriverGone            1  a lane has lost the process that planned it
├── LaneLost              1  a lane neither answers nor ends: the flow is taken over anew, which locks it out
├── HeldUp                1  lanes cannot go on for the moment; tells what they wait for
├── EngineFailed          1  Spark has ended under us
├── DataError             1  a record cannot be read, changed or written by a transform
│   └── RetryLater           it may be possible in a moment
├── HookFailed            1  a command or webhook of the user's own failed, and the file says to stop then
├── StillWriting          1  producers have not stopped in time
├── DifferenceFound       4  source and target differ
└── OperationFailed       1  a switchover, failover or failback stopped at a step
    └── StepFailed           what one step wants is not so, or does not come about
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heliograph.config.problem import Problem
    from heliograph.model import TopicPartition
    from heliograph.recovery.hooks.hooks import HookOutcome


class HeliographError(Exception):
    """Base of everything that Heliograph raises on purpose; its text is meant for people."""

    exit_code: ClassVar[int] = 1
    retriable: ClassVar[bool] = False


class ConfigError(HeliographError):
    """A configuration cannot be used; holds every problem that was found, not only the first."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class QueryRefused(HeliographError):
    """A query cannot be used for a flow; tells what is wrong with it."""

    exit_code = 2


class StartError(HeliographError):
    """Something that a command needs before it can begin is missing or broken."""

    exit_code = 3


class JavaMissing(StartError):
    """No Java runtime of the needed version was found, and none could be installed."""


class DownloadFailed(StartError):
    """Jars could not be fetched by their coordinates."""


class ProcessFailed(StartError):
    """A child process ended early or did not get ready in time."""


class ClusterError(HeliographError):
    """A cluster cannot be used as asked."""


class PartitionFailed(ClusterError):
    """One partition cannot be mirrored further; it is set aside with the reason, and tried again later."""

    retriable = True

    def __init__(
        self,
        source: TopicPartition,
        reason: str,
        target: TopicPartition | None = None,
        concerns_topic: bool = False,
    ) -> None:
        """`target` refused it, if it was refused; `concerns_topic`: the whole topic would be refused alike."""
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason
        self.target = target
        self.concerns_topic = concerns_topic
        self.others: Sequence[PartitionFailed] = ()  # that the same answer refused


class TransformWaits(ClusterError):
    """A transform lacks something that may be there in a moment; the lane begins again at what is committed."""

    retriable = True


class BrokerUnavailable(ClusterError):
    """A broker cannot be reached or does not answer; worth trying again."""

    retriable = True


class TargetCutBack(BrokerUnavailable):
    """Partitions of the target append at offsets that they had before: what they had from there on is lost.

    The attempt ends, and the next one tells. What this one has appended may hide the loss from it by then.
    """

    def __init__(self, message: str, places: Mapping[TopicPartition, int]) -> None:
        """`places`: for partitions of the source the offset at which their target appended."""
        super().__init__(message)
        self.places = places


class BrokerRefused(ClusterError):
    """A broker answered a request with an error."""

    retriable = True

    def __init__(self, where: str, code: int, name: str) -> None:
        super().__init__(f"{where}: {name}")
        self.code = code
        self.name = name


class PartitionsWait(BrokerRefused):
    """Partitions of the target take nothing for now: they lack replicas, or are being moved to another leader."""

    def __init__(self, where: str, code: int, name: str, sources: frozenset[TopicPartition]) -> None:
        """`sources`: the partitions of the source that wait for them."""
        super().__init__(where, code, name)
        self.sources = sources


class AuthenticationFailed(ClusterError):
    """A cluster does not accept who we say we are."""

    retriable = True


class FenceFailed(ClusterError):
    """Topics cannot be closed to producers, or not be opened to them again."""


class MalformedRecord(ClusterError):
    """A batch of any topic, or a record of MirrorMaker 2's topics, is not what it should be."""


class NewerFormat(MalformedRecord):
    """A newer version has written a record of our own: who cannot read it must stop, and not be started again."""

    exit_code = 5


def refuse_newer(place: str, found: object, known: int) -> None:
    """NewerFormat if a record of our own is of a later format than we know; one without a format is older."""
    if not isinstance(found, int):
        raise MalformedRecord(f"{place}: {found!r} is no format that a record can have")
    if found > known:
        raise NewerFormat(
            f"{place}: a record of format {found}, written by a newer version of Heliograph; this one reads formats "
            f"up to {known}: use the newer version"
        )


class Fenced(ClusterError):
    """Our transactional id was taken; perhaps only because we were too slow: the ledger tells whose the flow is."""

    retriable = True


class TakenOver(Fenced):
    """A newer mirror owns the flow; this one must stop, and not be started again by itself."""

    exit_code = 5
    retriable = False


class StaleLane(HeliographError):
    """A lane of an earlier deal: other lanes copy its partitions by now, so it ends."""


class LoopFailed(HeliographError):
    """Nothing that is awaited on a loop is of use any more; whoever runs it is told, and only its owner may catch it.

    No ClusterError, so that it is never taken for trouble with the broker that somebody happens to be talking with.
    """

    def __init__(self, why: ClusterError) -> None:
        super().__init__(str(why))
        self.why = why


class DriverGone(HeliographError):
    """The driver of a lane has ended, so the lane ends too."""


class LaneLost(HeliographError):
    """A lane that neither says anything nor can be ended; a new take-over locks it out."""


class HeldUp(HeliographError):
    """Lanes cannot go on for the moment; tells what they wait for."""


class EngineFailed(HeliographError):
    """Spark has ended; only a new process can go on."""


class DataError(HeliographError):
    """A record cannot be read, changed or written by a transform."""


class RetryLater(DataError):
    """What a transform needs is not there now, but may be in a moment."""

    retriable = True


class HookFailed(HeliographError):
    """A hook failed that must not; holds what became of all hooks of that moment so far."""

    def __init__(self, message: str, outcomes: Sequence[HookOutcome]) -> None:
        super().__init__(message)
        self.outcomes = tuple(outcomes)


class StillWriting(HeliographError):
    """Topics still grow, or transactions are still open, though the time to wait for that is over."""


class OperationFailed(HeliographError):
    """An operation stopped; its text tells where, why, and what was put back."""


class StepFailed(OperationFailed):
    """A step of an operation cannot be done, or what it waits for does not come."""


class DifferenceFound(HeliographError):
    """Source and target do not hold the same records."""

    exit_code = 4
