"""The headers of a record as Python code sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heliograph.transforms.message import Header


class Headers:
    """Headers in their order; a name may come up several times. Texts are written in UTF-8."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[Header] = ()) -> None:
        self._items = list(items)

    def get(self, name: str, default: bytes | None = None) -> bytes | None:
        """The value of the last header with the name, as Kafka's clients see it."""
        return next((item.value for item in reversed(self._items) if item.name == name), default)

    def get_all(self, name: str) -> list[bytes | None]:
        """The values of all headers with the name."""
        return [item.value for item in self._items if item.name == name]

    def add(self, name: str, value: str | bytes | None) -> None:
        """One more header, behind all others."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a header is text, not {type(name).__name__}")
        if not isinstance(value, str | bytes | None):
            raise TypeError(f"the value of a header is text or bytes, not {type(value).__name__}")
        self._items.append(Header(name, value.encode() if isinstance(value, str) else value))

    def remove(self, name: str) -> int:
        """Take away all headers with the name; how many there were."""
        before = len(self._items)
        self._items = [item for item in self._items if item.name != name]
        return before - len(self._items)

    def set(self, name: str, value: str | bytes | None) -> None:
        """One header with the name instead of all that there are."""
        self.remove(name)
        self.add(name, value)

    def __contains__(self, name: object) -> bool:
        return any(item.name == name for item in self._items)

    def __iter__(self) -> Iterator[Header]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, Headers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        return f"Headers({[item.name for item in self._items]})"
