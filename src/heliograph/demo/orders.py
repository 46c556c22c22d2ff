"""A shop: realistic orders and payments, as JSON."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator

from heliograph.kafka.records import Record

TOPICS = {"orders": 6, "payments": 3}

_FIRST_NAMES = ("Ada", "Bruno", "Chidi", "Dana", "Emeka", "Fatima", "Grace", "Hiro", "Ines", "Jonas")
_PRODUCTS = (
    ("tea", 4.5),
    ("kettle", 39.0),
    ("mug", 12.5),
    ("honey", 7.2),
    ("biscuits", 3.1),
    ("teapot", 54.9),
)
_CITIES = ("Lisbon", "Lagos", "Oslo", "Osaka", "Lima", "Delhi")


class Shop:
    """Makes up customers and what they buy; the same seed makes the same shop."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._next_order = 1

    def sell(self, count: int) -> Iterator[tuple[str, Record]]:
        """So many orders, most of them with a payment: topic and record."""
        for _ in range(count):
            order = self._order()
            customer = str(order["customer"]).encode()
            yield "orders", _record(customer, order, (("source", b"web-shop"), ("schema", b"order-v1")))
            if self._random.random() < 0.8:
                payment = {"order_id": order["order_id"], "amount": order["total"], "method": "card"}
                yield "payments", _record(str(order["order_id"]).encode(), payment, ())

    def _order(self) -> dict[str, object]:
        chosen = self._random.sample(_PRODUCTS, self._random.randint(1, 4))
        items = [(name, price, self._random.randint(1, 3)) for name, price in chosen]
        customer = f"{self._random.choice(_FIRST_NAMES).lower()}-{self._random.randint(1, 400)}"
        order_id = self._next_order
        self._next_order += 1
        return {
            "order_id": order_id,
            "customer": customer,
            "email": f"{customer}@example.org",
            "city": self._random.choice(_CITIES),
            "items": [{"product": name, "price": price, "quantity": count} for name, price, count in items],
            "total": round(sum(price * count for _, price, count in items), 2),
        }


def _record(key: bytes, value: dict[str, object], headers: tuple[tuple[str, bytes], ...]) -> Record:
    return Record(0, int(time.time() * 1000), key, json.dumps(value).encode(), headers)
