"""Turns .proto texts into descriptors, with protoc."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool  # type: ignore[import-untyped]

from heliograph.errors import DataError, RetryLater
from heliograph.transforms.formats.protobuf_library import LIBRARY

_ROOT: Final = "default.proto"
_SECONDS: Final = 30.0
_SHOWN_CHARACTERS: Final = 300


def message_descriptor(text: str, references: Mapping[str, str], indexes: tuple[int, ...]) -> Any:
    """The descriptor of one message of a file, counted from the outermost inwards; DataError if there is none."""
    found = _file(text, references)
    types = list(found.message_types_by_name.values())
    descriptor = None
    for index in indexes:
        if not 0 <= index < len(types):
            raise DataError("the Protobuf schema has no message of the number that the record names")
        descriptor = types[index]
        types = list(descriptor.nested_types)
    return descriptor


def _file(text: str, references: Mapping[str, str]) -> Any:
    files = descriptor_pb2.FileDescriptorSet.FromString(_compiled(text, references))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool.FindFileByName(_ROOT)


def _compiled(text: str, references: Mapping[str, str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="heliograph-proto-") as name:
        folder = Path(name)
        for path, content in {**LIBRARY, **references, _ROOT: text}.items():
            _write(folder, path, content)
        output = folder / "descriptors"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "--include_imports"]
        command += [f"--descriptor_set_out={output}", str(folder / _ROOT)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RetryLater(f"protoc cannot be run: {type(error).__name__}") from None
        if run.returncode != 0 or not output.exists():
            problems = [line for line in run.stderr.splitlines() if ".proto:" in line]  # the rest is chatter
            told = "; ".join(problems).replace(f"{folder}/", "")[:_SHOWN_CHARACTERS]
            raise DataError(f"the Protobuf schema cannot be compiled: {told}")
        return output.read_bytes()


def _write(folder: Path, path: str, content: str) -> None:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        raise DataError("the Protobuf schema imports a file from outside")
    target = folder / parts
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content, encoding="utf-8")
