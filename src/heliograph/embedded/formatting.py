"""Formats the folder of a node in an instant, from what Kafka's own tool wrote once.

Kafka wants a folder to be formatted before a node starts on it. Its tool takes a JVM and a second of processor time to
write two small files: `meta.properties`, which is text, and `bootstrap.checkpoint`, which holds nothing but the
cluster's feature levels and so is the same for all clusters of one version.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

import javaproperties

from heliograph.cache import alone_with
from heliograph.embedded.jvm import Jvm
from heliograph.errors import ProcessFailed

_META = "meta.properties"
_CHECKPOINT = "bootstrap.checkpoint"
# What the tool wants to know although nothing of it ends up in the checkpoint.
_ANY_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@127.0.0.1:1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


def is_formatted(data: Path) -> bool:
    """Whether a node can start on this folder."""
    return (data / _META).exists()


def format_folder(jvm: Jvm, data: Path, cluster_id: str, node_id: int, features: Mapping[str, int]) -> None:
    """Make an empty folder a node's own; the features are levels other than the newest."""
    data.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_checkpoint(jvm, features), data / _CHECKPOINT)
    meta = {"version": "1", "cluster.id": cluster_id, "node.id": str(node_id), "directory.id": new_id()}
    (data / _META).write_text(javaproperties.dumps(meta, timestamp=False))


def new_id() -> str:
    """A fresh id in Kafka's form; never with a leading "-", which Kafka's tools would take for an option."""
    while True:
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not drawn.startswith("-"):
            return drawn


def _checkpoint(jvm: Jvm, features: Mapping[str, int]) -> Path:
    """Kept beside the jars, because it is theirs."""
    levels = "".join(f"-{name}-{level}" for name, level in sorted(features.items()))
    kept = jvm.jars.parent / f"bootstrap{levels}.checkpoint"
    if not kept.exists():
        with alone_with(kept):
            if not kept.exists():
                _format_by_kafka(jvm, features, kept)
    return kept


def _format_by_kafka(jvm: Jvm, features: Mapping[str, int], result: Path) -> None:
    with tempfile.TemporaryDirectory(dir=result.parent) as scratch:
        folder = Path(scratch)
        server = folder / "server.properties"
        server.write_text(javaproperties.dumps({**_ANY_NODE, "log.dirs": str(folder / "data")}, timestamp=False))
        arguments = ["format", "--cluster-id", new_id(), "--config", str(server)]
        for name, level in features.items():
            arguments += ["--feature", f"{name}={level}"]
        command = jvm.command(folder, "kafka.tools.StorageTool", *arguments, heap="128m")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ProcessFailed(f"Kafka could not format a folder: {(done.stderr or done.stdout).strip()[-500:]}")
        (folder / "data" / _CHECKPOINT).rename(result)
