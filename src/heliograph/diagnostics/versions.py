"""Which versions work together here; nothing heavy is imported to find out."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata

from heliograph import __version__
from heliograph.java import find_java, version_of

CLIENT_LIBRARIES = ("kafka-python", "aiokafka")
MISSING = "not found"


@dataclass(frozen=True)
class Versions:
    """Everything that one asks for first when something is odd."""

    heliograph: str
    python: str
    pyspark: str
    java: str
    clients: dict[str, str]
    platform: str

    @classmethod
    def read(cls) -> Versions:
        """Those of this process and this machine."""
        java = find_java()
        return cls(
            heliograph=__version__,
            python=f"{platform.python_implementation()} {platform.python_version()}",
            pyspark=installed("pyspark") or MISSING,
            java=version_of(java) if java else MISSING,
            clients={name: installed(name) or MISSING for name in CLIENT_LIBRARIES},
            platform=platform.platform(),
        )

    def by_name(self) -> dict[str, str]:
        """All of them in one table."""
        return {
            "heliograph": self.heliograph,
            "python": self.python,
            "pyspark": self.pyspark,
            "java": self.java,
            **self.clients,
            "platform": self.platform,
        }


def installed(package: str) -> str:
    """The version of an installed package; empty if it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
