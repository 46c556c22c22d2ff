"""What a record that could not be transformed becomes, and what is told of it."""

from __future__ import annotations

import pytest

from heliograph.engine.dead_letters import dead_letter
from heliograph.errors import DataError
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.transforms.chain import Failed

ORDERS = TopicPartition("orders", 3)


@pytest.mark.parametrize("shows_content", [True, False])
def test_a_dead_letter_without_content_has_nothing_of_the_record_but_its_place(shows_content: bool) -> None:
    record = Record(17, 1_000, b"a customer", b"her address", [("mail", b"hers")])
    letter = dead_letter(record, ORDERS, "a->b", Failed("mask", "MaskPII", DataError("not an object")), shows_content)
    told = {name: value for name, value in letter.headers if name.startswith("__connect.errors.")}
    assert told == {
        "__connect.errors.topic": b"orders",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"17",
        "__connect.errors.connector.name": b"a->b",
        "__connect.errors.stage": b"mask",
        "__connect.errors.class.name": b"MaskPII",
        "__connect.errors.exception.class.name": b"DataError",
        "__connect.errors.exception.message": b"not an object",
    }
    assert letter.timestamp == 1_000
    assert (letter.key, letter.value) == ((b"a customer", b"her address") if shows_content else (None, None))
    assert len(letter.headers) - len(told) == int(shows_content)
