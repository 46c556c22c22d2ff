"""What transforms and predicates have in common, the built-in ones and anyone's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from heliograph.errors import DataError
from heliograph.transforms.message import Message, Side


class StageOption(NamedTuple):
    """One setting of a transform or predicate: for the parser, the messages and the reference."""

    key: str
    doc: str
    default: str | None = None
    is_required: bool = False
    choices: tuple[str, ...] = ()


Outcome = Message | None | DataError  # a message goes on, None was dropped, a failure is for the error rules


class Transform(ABC):
    """Changes messages one by one."""

    OPTIONS: ClassVar[tuple[StageOption, ...]] = ()
    hides_data: ClassVar[bool] = False  # what it takes out must not be seen on the target, not even beside a failure
    may_reroute: ClassVar[bool] = True  # whether messages may leave for another topic or partition
    drops_all: ClassVar[bool] = False  # whether no message passes

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a transform may need no settings
        """Take the settings below `transforms.<name>.`, defaults filled in; ValueError refuses them."""

    @abstractmethod
    def apply(self, message: Message) -> Message | None:
        """The message changed, or None to drop it; DataError if it cannot be."""

    def apply_many(self, messages: Sequence[Message]) -> list[Outcome]:
        """What becomes of each message; for those that can do many at once in less time."""
        return [self._attempt(message) for message in messages]

    def route(self, topic: str) -> str | None:
        """The topic that every message of this topic gets, if that is all that happens to them; None if it is not."""
        return None

    def _attempt(self, message: Message) -> Outcome:
        try:
            return self.apply(message)
        except DataError as error:
            return error


class SidedTransform(Transform):
    """A transform of keys or of values: `$Key` and `$Value` in Kafka Connect's class names."""

    may_reroute = False

    def __init__(self, is_key: bool) -> None:
        self._is_key = is_key

    @property
    def side_name(self) -> str:
        """For messages to people."""
        return "key" if self._is_key else "value"

    def side(self, message: Message) -> Side:
        """The key or the value."""
        return message.key if self._is_key else message.value


class Predicate(ABC):
    """Says for which messages a transform works."""

    OPTIONS: ClassVar[tuple[StageOption, ...]] = ()

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a predicate may need no settings
        """Take the settings below `predicates.<name>.`, defaults filled in; ValueError refuses them."""

    @abstractmethod
    def test(self, message: Message) -> bool:
        """Whether the message is meant."""

    def test_topic(self, topic: str) -> bool | None:
        """The same for all messages of a topic; None if its name alone does not tell."""
        return None
