"""Everything that the doctor looks at, in order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from heliograph.config.mirror_config import MirrorConfig
from heliograph.diagnostics.cluster_checks import check_cluster, read_file
from heliograph.diagnostics.machine import Machine
from heliograph.diagnostics.machine_checks import check_machine
from heliograph.diagnostics.observation import Observation
from heliograph.diagnostics.packages import check_packages, required


@dataclass(frozen=True)
class Examination:
    """What was seen; the configuration only if a file was given that can be used."""

    observations: tuple[Observation, ...]
    config: MirrorConfig | None = None


def examine(file: Path | None) -> Examination:
    """Look at this machine, and with a file also at that and at its clusters."""
    machine = (*check_machine(Machine.read()), *check_packages(required()))
    if file is None:
        return Examination(machine)
    config, told = read_file(file)
    clusters = [seen for cluster in config.clusters.values() for seen in check_cluster(cluster)] if config else []
    return Examination((*machine, *told, *clusters), config)
