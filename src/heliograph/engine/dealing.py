"""Who copies what: the partitions of a flow dealt to its lanes by load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from heliograph.model import Assignment, TopicPartition

Loads = Mapping[TopicPartition, int]

# A new deal interrupts the flow for a moment: it must be worth it.
_UNEVEN = 1.5
_BETTER = 0.8


def deal(assignments: Iterable[Assignment], loads: Loads, lanes: int) -> list[list[Assignment]]:
    """The busiest partition first, each to the lane with the least load so far."""
    dealt: list[list[Assignment]] = [[] for _ in range(lanes)]
    totals = [0] * lanes
    for item in sorted(assignments, key=lambda item: -loads.get(item.source, 0)):
        lightest = totals.index(min(totals))
        dealt[lightest].append(item)
        totals[lightest] += loads.get(item.source, 0) + 1
    return dealt


def fair_shares(wishes: Sequence[int], slots: int) -> list[int]:
    """How many of the slots each gets: one at least, no more than it wishes, and the rest as evenly as that allows."""
    shares = [1] * len(wishes)
    for _ in range(slots - len(wishes)):
        wanting = [number for number, wish in enumerate(wishes) if shares[number] < wish]
        if not wanting:
            break
        shares[min(wanting, key=shares.__getitem__)] += 1
    return shares


def is_worth_a_new_deal(lanes: Sequence[Sequence[Assignment]], loads: Loads) -> bool:
    """Whether one lane has much more to do than the others, and dealing anew by these loads would help."""
    now = _busiest(lanes, loads)
    if not now or now * len(lanes) < _UNEVEN * sum(loads.values()):
        return False
    everything = [item for lane in lanes for item in lane]
    return _busiest(deal(everything, loads, len(lanes)), loads) <= _BETTER * now


def _busiest(lanes: Iterable[Iterable[Assignment]], loads: Loads) -> int:
    return max((sum(loads.get(item.source, 0) for item in lane) for lane in lanes), default=0)
