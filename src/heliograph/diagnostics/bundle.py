"""An archive of everything that helps to understand trouble, without any secret in it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from heliograph.diagnostics.redaction import Redactor, Tree
from heliograph.errors import StartError

_FOLDER = "heliograph-doctor"
_MANIFEST = "manifest.json"


@dataclass
class Bundle:
    """Collects parts; each is freed of secrets as it comes in, so that none can be forgotten."""

    redactor: Redactor
    _parts: dict[str, bytes] = field(default_factory=dict)

    def add_text(self, name: str, text: str) -> None:
        """A part as it is. JSON is taken apart first: a secret may be spelt in another way inside it."""
        tree = _parsed(text)
        if isinstance(tree, dict | list):
            self.add_tree(name, tree)
        else:
            self._parts[name] = self.redactor.text(text).encode()

    def add_tree(self, name: str, value: Tree) -> None:
        """Plain values, as JSON."""
        shown = json.dumps(self.redactor.tree(value), indent=2, ensure_ascii=False)
        self._parts[name] = f"{self.redactor.text(shown)}\n".encode()

    def write(self, file: Path) -> None:
        """Write the archive, for its owner only, beside its place first: whoever finds it there finds all of it."""
        unfinished = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            with open(unfinished, "xb", opener=_private) as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
                for info, content in self._members():
                    archive.addfile(info, io.BytesIO(content))
            unfinished.replace(file)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise StartError(f"cannot write {file}: {error.strerror}; give --bundle another place") from None

    def _members(self) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        now = int(time.time())
        for name, content in {_MANIFEST: self._manifest(now), **self._parts}.items():
            info = tarfile.TarInfo(f"{_FOLDER}/{name}")
            info.size, info.mtime, info.mode = len(content), now, 0o600
            yield info, content

    def _manifest(self, now: int) -> bytes:
        files = [
            {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in self._parts.items()
        ]
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        return (json.dumps({"made_at": made, "files": files}, indent=2) + "\n").encode()


def _parsed(text: str) -> Tree:
    try:
        found: Tree = json.loads(text)
    except ValueError:
        return None
    return found


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
