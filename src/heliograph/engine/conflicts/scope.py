"""What there is to read on a cluster now, and where views are written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.engine.conflicts.read_task import TopicOrigin
from heliograph.model import TopicPartition


@dataclass(frozen=True)
class Scope:
    """Topics, as they were when they were looked at."""

    origins: Mapping[str, TopicOrigin] = field(default_factory=dict)  # of each topic
    partitions: Sequence[TopicPartition] = ()
    views: Mapping[str, str] = field(default_factory=dict)  # topics of views, and whose they are
    topic_ids: Mapping[str, str] = field(default_factory=dict)  # which a topic that is made anew does not keep

    def is_continued_by(self, later: Scope) -> bool:
        """Whether a run can go on with a later scope: the views are the same, and no topic was made anew."""
        kept = self.topic_ids.items() <= {**self.topic_ids, **later.topic_ids}.items()
        return kept and self.views == later.views
