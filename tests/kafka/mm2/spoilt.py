"""Records of MirrorMaker 2's topics that are not what they should be."""

from __future__ import annotations

Spoilt = tuple[bytes | None, bytes | None, str]


def spoilt(what: str, key: bytes, value: bytes) -> list[Spoilt]:
    """A good record spoilt in every way, and what is said of each; its value begins with its version."""
    return [
        (None, value, f"the key of a {what} is missing"),
        (key, None, f"the value of a {what} is missing"),
        (key, b"\x00\x01" + value[2:], "version 1"),
        (key + b"\x00", value, "1 bytes too many"),
        (key, value + b"\x00", "1 bytes too many"),
        (key[:-1], value, "ends too early"),
        (key, value[:-1], "ends too early"),
    ]
