"""From a file of another tool to an mm2.properties file: finds out what it is, and has it read."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.config.problem import Problem, Severity
from heliograph.errors import ConfigError
from heliograph.migration.connectors import add_connectors, holds_connectors
from heliograph.migration.document import read_documents
from heliograph.migration.draft import Draft, as_text
from heliograph.migration.strimzi import ResourceReader, is_resource

SECRETS = "/etc/heliograph/secrets"


@dataclass(frozen=True)
class Import:
    """The keys that say the same, and what somebody should know about them."""

    file: str
    entries: dict[str, str]
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """An mm2.properties file."""
        return as_text(self.entries, list(self.notes), self.file)


def import_data(data: bytes, file: str, secrets: str = SECRETS) -> Import:
    """Read connectors or resources. Raises ConfigError that says what is wrong, and where."""
    documents = read_documents(data, file)
    draft = Draft()
    resources = [document for document in documents if is_resource(document.value)]
    connectors = [document for document in documents if document not in resources and holds_connectors(document.value)]
    others = [document for document in documents if document not in resources and document not in connectors]
    draft.notes += [
        f"what begins on line {document.line} is no connector and no resource: left out" for document in others
    ]
    ResourceReader(draft, file, secrets).add(resources)
    add_connectors(connectors, file, draft)
    if not draft.has_flows:
        message = "has no MirrorMaker 2 in it" + "".join(f"; {note}" for note in draft.notes)
        hint = "give connectors as JSON, as they are posted to Kafka Connect, or a KafkaMirrorMaker2 of Strimzi as YAML"
        raise ConfigError([Problem(Severity.ERROR, message, hint, file)])
    entries = draft.entries()
    return Import(file, entries, tuple(dict.fromkeys(draft.notes)))
