"""Two transforms in Python: one looks at records one by one, the other at many at once.

`Redact` takes fields out of JSON values, notes that in a header, and drops records of test customers.
`HideCardNumbers` hides what looks like the number of a payment card, in values of any text format.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import DataError
from heliograph.transforms.record import Record
from heliograph.transforms.stage import StageOption


class Redact:
    """Takes fields out of JSON values."""

    OPTIONS = (
        StageOption("fields", "The fields to take out, separated by commas.", is_required=True),
        StageOption("header", "The header that says how many there were.", default="x-redacted"),
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the names."""
        self._fields = [name.strip() for name in settings["fields"].split(",") if name.strip()]
        if not self._fields:
            raise ValueError("fields must name at least one")
        self._header = settings["header"]

    def apply(self, record: Record) -> Record | None:
        """The record without the fields; nothing at all of test customers."""
        if record.value is None:
            return record
        if not isinstance(record.value, dict):
            raise DataError("Redact: the value is not a JSON object")
        if record.value.get("customer") == "test":
            return None
        found = [record.value.pop(name) for name in self._fields if name in record.value]
        if found:
            record.headers.set(self._header, str(len(found)))
        return record


class HideCardNumbers:
    """Leaves the first and the last four digits of card numbers, for thousands of records at once."""

    OPTIONS = ()

    def apply_batch(self, table: pa.Table) -> pa.Table:
        """The table with other values; rows that are left out of it would be dropped."""
        hidden = pc.replace_substring_regex(
            table["value"].cast(pa.string()), pattern=r"\b(\d{4})\d{8,11}(\d{4})\b", replacement=r"\1********\2"
        )
        return table.set_column(table.schema.get_field_index("value"), "value", hidden)
