"""Kafka's own transforms and predicates, in a Java that answers one question per round trip."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path, launch_gateway

from heliograph.embedded.jars import fetch_jars
from heliograph.java import QUICK_START, ensure_java

TRANSFORMS = "org.apache.kafka.connect.transforms."
PREDICATES = "org.apache.kafka.connect.transforms.predicates."


class OracleRecord(NamedTuple):
    """A record as bytes."""

    value: bytes | None = None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic: str = "topic"
    partition: int | None = 0
    timestamp: int | None = 1_700_000_000_123


@dataclass(frozen=True)
class OracleError:
    """What Java throws, and in which step: configure, read (by the converters), apply or write (by the converters)."""

    step: str
    type: str
    message: str | None


class JavaOracle:
    """Answers what Java makes of a record. Converters are json, json-schemas, json-schemas-numeric, string, bytes."""

    def __init__(self, program: Any) -> None:
        self._program = program

    def apply(
        self,
        class_name: str,
        settings: Mapping[str, str],
        record: OracleRecord,
        key_converter: str = "json",
        value_converter: str = "json",
    ) -> OracleRecord | OracleError | None:
        """What the transform makes of the record: another, a failure, or nothing at all."""
        question = _question(_full(class_name, TRANSFORMS), settings, record, key_converter, value_converter)
        answer = json.loads(self._program.apply(question))
        if "error" in answer:
            return OracleError(**answer["error"])
        return _record(answer["record"]) if "record" in answer else None

    def predicate(
        self,
        class_name: str,
        settings: Mapping[str, str],
        record: OracleRecord,
        key_converter: str = "json",
        value_converter: str = "json",
    ) -> bool | OracleError:
        """Whether the predicate holds for the record."""
        question = _question(_full(class_name, PREDICATES), settings, record, key_converter, value_converter)
        answer = json.loads(self._program.test(question))
        return OracleError(**answer["error"]) if "error" in answer else bool(answer["holds"])

    def converted(self, data: bytes | None, converter: str) -> bytes | OracleError | None:
        """The bytes read and written again by a converter."""
        settings = {"headers": "none"}
        found = self.apply("DropHeaders", settings, OracleRecord(data), "json", converter)
        return found.value if isinstance(found, OracleRecord) else found

    def format_date(self, pattern: str, ms: int) -> str | None:
        """A moment as Java's `SimpleDateFormat` writes it, in UTC; None if it refuses the pattern."""
        found = self._program.formatDate(pattern, str(ms))
        return None if found is None else str(found)

    def parse_date(self, pattern: str, text: str) -> int | None:
        """The moment that Java's `SimpleDateFormat` reads; None if it refuses the pattern or the text."""
        found = self._program.parseDate(pattern, text)
        return None if found is None else int(found)


@contextmanager
def running_oracle() -> Iterator[JavaOracle]:
    """A Java process that answers until the end of the block."""
    pyspark = util.find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    spark_jars = Path(pyspark.origin).parent / "jars"
    compiler = [*spark_jars.glob("janino-*.jar"), *spark_jars.glob("commons-compiler-*.jar")]
    port, token, process = launch_gateway(
        classpath=":".join([f"{fetch_jars()}/*", *map(str, compiler)]),
        jarpath=str(next(spark_jars.glob("py4j-*.jar"), find_jar_path())),
        javaopts=[
            "-Xmx256m",
            *QUICK_START,
            "-Dlog4j2.level=OFF",
            "-Duser.timezone=UTC",
            "-Duser.language=en",
            "-Duser.country=US",
        ],
        java_path=str(ensure_java()),
        enable_auth=True,
        die_on_exit=True,
        return_proc=True,
        redirect_stderr=subprocess.DEVNULL,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield JavaOracle(_compiled(gateway))
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(30)


def _compiled(gateway: JavaGateway) -> Any:
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(Path(__file__).with_name("JavaOracle.java").read_text())
    loader = compiler.getClassLoader()
    gateway.jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)
    program = loader.loadClass("JavaOracle")
    return program.getDeclaredConstructor(gateway.new_array(gateway.jvm.java.lang.Class, 0)).newInstance(
        gateway.new_array(gateway.jvm.java.lang.Object, 0)
    )


def _full(class_name: str, package: str) -> str:
    return class_name if "." in class_name else package + class_name


def _question(class_name: str, settings: Mapping[str, str], record: OracleRecord, *converters: str) -> str:
    return json.dumps(
        {
            "class": class_name,
            "settings": dict(settings),
            "key_converter": converters[0],
            "value_converter": converters[1],
            "topic": record.topic,
            "partition": record.partition,
            "timestamp": record.timestamp,
            "key": _to_text(record.key),
            "value": _to_text(record.value),
            "headers": [(name, _to_text(value)) for name, value in record.headers],
        }
    )


def _record(found: dict[str, Any]) -> OracleRecord:
    headers = tuple((name, _to_bytes(value)) for name, value in found.pop("headers"))
    sides = {side: _to_bytes(found.pop(side)) for side in ("key", "value")}
    return OracleRecord(**sides, **found, headers=headers)


def _to_text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _to_bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
