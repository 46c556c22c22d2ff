"""The files of the web page, read once and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class Asset:
    """One file, with a tag that changes when its content does."""

    content: bytes
    media_type: str
    etag: str


@cache
def assets() -> Mapping[str, Asset]:
    """All files by their path below the static folder: what is not among them is not served."""
    found: dict[str, Asset] = {}
    _collect(files(__package__) / "static", "", found)
    return found


def _collect(folder: Traversable, prefix: str, found: dict[str, Asset]) -> None:
    for item in folder.iterdir():
        if item.is_dir():
            _collect(item, f"{prefix}{item.name}/", found)
        elif media_type := _MEDIA_TYPES.get(f".{item.name.rpartition('.')[2]}"):
            content = item.read_bytes()
            found[prefix + item.name] = Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
