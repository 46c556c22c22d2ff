"""Every conflict gets an answer, also where the rule has none."""

from __future__ import annotations

from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.errors import DataError

_FALLBACK = LastWriterWins()


def settle(resolver: Resolver, conflict: Conflict) -> Resolution:
    """What the rule says; if it cannot read the records, the last writer wins, and the note tells why.

    What may be possible in a moment is raised, so that it is tried again.
    """
    try:
        return resolver.resolve(conflict)
    except DataError as error:
        if error.retriable:
            raise
        return _FALLBACK.resolve(conflict)._replace(note=str(error))
