"""The Java programs of Kafka's jars: how each is called and how it logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heliograph.embedded.jars import fetch_jars
from heliograph.java import QUICK_START, ensure_java, version_of

# Every client prints all its settings when it starts; the properties files beside the log hold the same.
_LOGGING = """status=error
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
logger.settings.name=org.apache.kafka.common.config.AbstractConfig
logger.settings.level=warn
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %X{connector.context}%m (%c)%n
"""
PEAK_SPEED = ("-XX:+UseG1GC",)  # as Kafka's own scripts choose it, for whatever is measured


@dataclass(frozen=True)
class Jvm:
    """A Java runtime together with the jars of Kafka."""

    java: Path
    jars: Path

    @classmethod
    def prepare(cls) -> Jvm:
        """Find or install Java, and fetch the jars that are missing."""
        return cls(ensure_java(), fetch_jars())

    @property
    def archive(self) -> Path:
        """Where the archive of a broker's classes is, if somebody has made it; see `broker_archive`."""
        return self.jars.parent / f"broker-java-{version_of(self.java)}.jsa"

    def command(
        self,
        folder: Path,
        main_class: str,
        *arguments: str,
        heap: str,
        tuning: Sequence[str] = QUICK_START,
        options: Sequence[str] = (),
    ) -> list[str]:
        """The command line of one program; how it logs is written into its folder."""
        folder.mkdir(parents=True, exist_ok=True)
        logging = folder / "log4j2.properties"
        logging.write_text(_LOGGING)
        archive = [f"-XX:SharedArchiveFile={self.archive}"] if tuning == QUICK_START and self.archive.exists() else []
        return [
            str(self.java), f"-Xmx{heap}", f"-Xms{heap}", *tuning, *archive, "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={logging}", *options,
            "-cp", f"{self.jars}/*", main_class, *arguments,
        ]  # fmt: skip
