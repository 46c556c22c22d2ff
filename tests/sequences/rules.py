"""The rules of the protocol, each of which can be switched off: the model must then find what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """All of them hold in the real protocol."""

    declare_ahead: bool = True  # off: records in the tail are counted, and the source is walked by that number
    mark_when_closing: bool = True  # off: closing a flow only initialises its ids
    await_markers: bool = True  # off: a fence is believed when the coordinator has taken the transaction
    fence_books: bool = True  # off: books are written by whoever knows the way
    rotate_ids: bool = True  # off: one data id for each lane
    rest_before_reuse: bool = True  # off: an id is used again at once, however fast sessions follow each other
    lease: bool = True  # off: a writer that was frozen goes on where it was
    clean_is_last: bool = True  # off: a clean end counts though somebody has written since
    read_tails: bool = True  # off: what the last flush says is believed
    keep_sequences: bool = True  # off: a partition that comes back begins at sequence number 0
    new_epoch_after_doubt: bool = True  # off: a batch with an unknown outcome is passed over
    one_by_one_when_old: bool = True  # off: batches follow others that brokers may have forgotten by age
    look_back: bool = True  # off: a declaration is not checked for others that came between
