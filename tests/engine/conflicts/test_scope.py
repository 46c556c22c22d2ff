"""When a run can go on with the topics that there are now."""

from __future__ import annotations

from heliograph.engine.conflicts.scope import Scope


def test_new_topics_are_taken_in_but_not_new_views_or_topics_made_anew() -> None:
    before = Scope(topic_ids={"orders": "1"}, views={"orders.resolved": "orders"})
    more = Scope(topic_ids={"orders": "1", "us.orders": "2"}, views=before.views)
    assert before.is_continued_by(before)
    assert before.is_continued_by(more)
    assert more.is_continued_by(before)  # one that is gone is not read any more
    assert not before.is_continued_by(Scope(topic_ids={"orders": "3"}, views=before.views))
    assert not before.is_continued_by(Scope(topic_ids=before.topic_ids, views={}))
