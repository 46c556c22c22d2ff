"""What a file says about conflicts: which line counts, what is refused, and what flows leave out because of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from heliograph.config.conflict_config import ConflictConfig
from heliograph.config.explanation import explain
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.own_topics import WithoutOwnTopics
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver

Load = Callable[..., MirrorConfig]
Problems = Callable[..., list[str]]

BOTH_WAYS = """\
clusters = a, b
a.bootstrap.servers = a:9092
b.bootstrap.servers = b:9092
a->b.enabled = true
b->a.enabled = true
"""
MESH = "clusters = a, b, c\n" + "".join(
    [f"{alias}.bootstrap.servers = {alias}:9092\n" for alias in "abc"]
    + [f"{one}->{other}.enabled = true\n" for one in "abc" for other in "abc" if one != other]
)
OWN = ("conflict-resolutions", "orders.resolved")
OUTPUT = "conflicts.output = {topic}.resolved\n"


def detection(config: MirrorConfig) -> dict[str, ConflictConfig]:
    return {item.cluster.alias: item for item in config.conflicts}


def taken(config: MirrorConfig, flow: str, *topics: str) -> list[str]:
    """Those of the topics that a flow takes along."""
    found = config.flow(flow)
    assert found is not None
    return [topic for topic in topics if found.topic_filter.should_replicate_topic(topic)]


class Chosen(Resolver):
    """A rule of somebody's own."""

    given: ClassVar[list[Mapping[str, str]]] = []

    def configure(self, settings: Mapping[str, str]) -> None:
        if settings.get("conflicts.resolver.mood") == "bad":
            raise ValueError("not in the mood")
        self.given.append(dict(settings))

    def resolve(self, conflict: Conflict) -> Resolution:
        return Resolution.for_winner(conflict.last, "chosen")


def given_to(item: ConflictConfig) -> Mapping[str, str]:
    """What the class gets when the rule is made."""
    item.made_resolver()
    return Chosen.given.pop()


CHOSEN = f"conflicts.topics = orders\nconflicts.resolver = {__name__}.Chosen\n"


# -- which line counts --------------------------------------------------------------------------------------------


def test_without_topics_nothing_is_looked_for(load_text: Load) -> None:
    assert load_text("conflicts.window.ms = 1\n", base=BOTH_WAYS).conflicts == ()


def test_a_line_for_all_counts_for_every_cluster_that_records_are_brought_to(load_text: Load) -> None:
    found = detection(load_text("conflicts.topics = orders, pay.*\n", base=BOTH_WAYS))
    assert list(found) == ["a", "b"]
    assert [flow.name for flow in found["a"].flows] == ["b->a"]
    assert found["a"].topics == ("orders", "pay.*")
    assert found["a"].aliases == ("a", "b")
    assert (found["a"].bounds, found["a"].resolver, found["a"].output) == (Bounds(5000), "last-writer-wins", "")
    assert found["a"].name == "conflicts on a"


def test_a_line_of_a_flow_counts_before_that_of_its_target_and_that_before_the_one_for_all(load_text: Load) -> None:
    text = (
        "conflicts.topics = orders\nconflicts.window.ms = 1\nb.conflicts.window.ms = 2\na->b.conflicts.window.ms = 3\n"
    )
    assert {alias: item.window_ms for alias, item in detection(load_text(text, base=BOTH_WAYS)).items()} == {
        "a": 1,
        "b": 3,
    }
    text = text.replace("a->b.conflicts.window.ms", "b->a.conflicts.window.ms")
    assert {alias: item.window_ms for alias, item in detection(load_text(text, base=BOTH_WAYS)).items()} == {
        "a": 3,
        "b": 2,
    }


def test_topics_of_flows_are_added_up(load_text: Load) -> None:
    text = "conflicts.topics = all\na->b.conflicts.topics = orders, pay\nc->b.conflicts.topics = pay, users\n"
    found = detection(load_text(text, base=MESH))
    assert found["b"].topics == ("orders", "pay", "users")
    assert found["a"].topics == ("all",)


def test_a_flow_that_is_off_has_no_say(load_text: Load) -> None:
    text = "b.conflicts.topics = orders\nc->b.enabled = false\nc->b.conflicts.topics = users\n"
    found = detection(load_text(text, base=MESH.replace("c->b.enabled = true\n", "")))
    assert found["b"].topics == ("orders",)
    assert [flow.name for flow in found["b"].flows] == ["a->b"]


def test_the_published_active_active_file_looks_for_no_conflicts() -> None:
    config = load(Path(__file__).parent / "seeds" / "000-active-active.properties")
    assert config.conflicts == ()
    assert all(not isinstance(flow.topic_filter, WithoutOwnTopics) for flow in config.flows)


# -- what is refused ----------------------------------------------------------------------------------------------


def test_flows_that_disagree_are_refused_with_the_other_line_and_the_way_out(problems_of: Problems) -> None:
    text = "a->b.conflicts.topics = orders\na->b.conflicts.window.ms = 1\nc->b.conflicts.window.ms = 2\n"
    assert problems_of(text, base=MESH) == [
        "error c->b.conflicts.window.ms: line 12 says 1, and both count for b "
        "(write b.conflicts.window.ms instead of both)"
    ]
    assert problems_of(text.replace("= 2", "= 1"), base=MESH) == []


def test_flows_may_not_give_a_class_different_settings(problems_of: Problems) -> None:
    text = f"{CHOSEN}a->b.conflicts.resolver.mood = good\nc->b.conflicts.resolver.mood = fair\n"
    assert problems_of(text, base=MESH) == [
        "error c->b.conflicts.resolver.mood: line 13 says good, and both count for b "
        "(write b.conflicts.resolver.mood instead of both)"
    ]


def test_a_rule_that_does_not_exist_is_refused_with_one_that_does(problems_of: Problems) -> None:
    text = "conflicts.topics = orders\nb.conflicts.resolver = last-writer-win\n"
    (problem,) = problems_of(text, base=BOTH_WAYS)
    assert problem.startswith("error b.conflicts.resolver: ")
    assert "no rule 'last-writer-win'; did you mean last-writer-wins?" in problem


def test_a_rule_that_lacks_something_is_refused(problems_of: Problems) -> None:
    text = "conflicts.topics = orders\nconflicts.resolver = crdt\n"
    assert "crdt refuses its settings: conflicts.crdt.fields must say how" in problems_of(text)[0]
    assert problems_of(text + "conflicts.crdt.fields = likes: counter\n") == []


def test_an_unknown_cluster_cannot_be_preferred(problems_of: Problems) -> None:
    text = "conflicts.topics = orders\nconflicts.resolver = prefer-cluster\nconflicts.prefer.clusters = a, x\n"
    assert problems_of(text) == [
        "error conflicts.prefer.clusters: the cluster x is not in clusters (clusters are a, b)"
    ]
    assert problems_of(text.replace(", x", ", b")) == []


@pytest.mark.parametrize(
    ("topics", "output", "message"),
    [
        ("orders", "orders resolved", "'orders resolved' cannot be a topic"),
        ("orders", "{topics}.resolved", "'{topics}.resolved' cannot be a topic"),
        ("orders", "{topic}.\u00fc", "cannot be a topic"),
        ("orders, users", "resolved", "the views of several topics cannot share one"),
        ("order.*", "resolved", "the views of several topics cannot share one"),
        ("orders", "orders", "the view cannot be written to the topic itself"),
        ("orders, users", "{topic}", "the view cannot be written to the topic itself"),
    ],
)
def test_views_that_cannot_be_written_are_refused(
    problems_of: Problems, topics: str, output: str, message: str
) -> None:
    (problem,) = problems_of(f"conflicts.topics = {topics}\nconflicts.output = {output}\n")
    assert problem.startswith("error conflicts.output: ")
    assert message in problem
    assert "{topic}.resolved" in problem.rpartition("(")[2]


@pytest.mark.parametrize(
    ("topics", "output", "view"),
    [
        ("orders", "resolved", "resolved"),
        ("orders, users", "{topic}.resolved", "orders.resolved"),
        (".*", "view-of-{topic}", "view-of-orders"),
        (".*", "{topic}.resolved", "orders.resolved"),
    ],
)
def test_views_that_can_be_written_are_not(load_text: Load, topics: str, output: str, view: str) -> None:
    config = load_text(f"conflicts.topics = {topics}\nconflicts.output = {output}\n", base=BOTH_WAYS)
    assert not config.problems
    assert detection(config)["b"].own_topics.view_of("orders") == view
    assert taken(config, "a->b", view, "orders") == ["orders"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("conflicts.window.ms = soon", "'soon' is not a whole number"),
        ("conflicts.window.ms = -1", "'-1' is too small"),
        ("conflicts.tasks.max = 0", "'0' is too small"),
        ("conflicts.start = middle", "is not one of the possible values (write earliest or latest)"),
        ("a->b.conflicts.lateness.ms = 1s", "'1s' is not a whole number"),
        ("b.conflicts.topics = ord(ers", "this group is never closed"),
    ],
)
def test_values_that_cannot_be_read_are_refused_once(problems_of: Problems, line: str, message: str) -> None:
    (problem,) = problems_of(f"conflicts.topics = orders\n{line}\n", base=BOTH_WAYS)
    assert problem.startswith(f"error {line.partition(' =')[0]}: ")
    assert message in problem


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("conflicts.windw.ms", "conflicts.window.ms"),
        ("b.conflicts.topcs", "b.conflicts.topics"),
        ("a->b.conflicts.outptu", "a->b.conflicts.output"),
    ],
)
def test_a_key_that_does_not_exist_gets_the_one_that_was_meant(problems_of: Problems, key: str, meant: str) -> None:
    assert problems_of(f"{key} = 1\n") == [f"warning {key}: unknown key, ignored (did you mean {meant}?)"]


# -- clusters that nothing is brought to --------------------------------------------------------------------------


@pytest.mark.parametrize("more", ["", "emit.heartbeats.enabled = false\n"], ids=["heartbeats", "none"])
def test_topics_of_a_cluster_that_nothing_is_brought_to_are_useless(
    load_text: Load, problems_of: Problems, more: str
) -> None:
    text = f"{more}a.conflicts.topics = orders\n"
    assert problems_of(text) == [
        "warning a.conflicts.topics: no flow brings records to a (enable a flow to a, or drop it)"
    ]
    assert load_text(text).conflicts == ()


@pytest.mark.parametrize("alias", ["c", "conflicts"])
def test_a_line_for_all_may_be_useless_for_some_whatever_they_are_called(problems_of: Problems, alias: str) -> None:
    base = f"clusters = {alias}, b\n{alias}.bootstrap.servers = a:9092\nb.bootstrap.servers = b:9092\n"
    assert problems_of("conflicts.topics = orders\n", base=f"{base}{alias}->b.enabled = true\n") == []


def test_what_another_process_looks_for_is_not_called_useless(load_text: Load) -> None:
    config = load_text("a.conflicts.topics = orders\n", base=BOTH_WAYS, clusters=["b"])
    assert config.conflicts == ()
    assert not config.problems


# -- what flows leave out -----------------------------------------------------------------------------------------


def test_flows_leave_out_what_detection_writes_on_their_source(load_text: Load) -> None:
    config = load_text(f"a.conflicts.topics = orders\na.{OUTPUT}", base=MESH)
    for flow in ("a->b", "a->c"):
        assert taken(config, flow, "orders", *OWN, "users.resolved") == ["orders", "users.resolved"]
    for flow in ("b->a", "b->c", "c->a"):
        assert taken(config, flow, "orders", *OWN) == ["orders", *OWN]


@pytest.mark.parametrize("key", ["", "a.", "b->a.", "c->a."])
def test_they_do_so_whichever_process_runs_them(load_text: Load, key: str) -> None:
    config = load_text(f"{key}conflicts.topics = orders\n{OUTPUT}", base=MESH, clusters=["b"])
    assert [flow.name for flow in config.flows] == ["a->b", "c->b"]
    assert taken(config, "a->b", "orders", *OWN) == ["orders"]
    assert list(detection(config)) == ([] if key else ["b"])


def test_topics_exclude_still_counts(load_text: Load) -> None:
    config = load_text("conflicts.topics = orders\ntopics.exclude = secret\n", base=BOTH_WAYS)
    assert taken(config, "a->b", "secret", "orders") == ["orders"]


# -- the rest -----------------------------------------------------------------------------------------------------


def test_a_class_gets_its_settings_the_nearest_line_first(load_text: Load) -> None:
    text = CHOSEN + (
        "conflicts.resolver.x = all\nconflicts.resolver.y = all\nconflicts.resolver.z = all\n"
        "b.conflicts.resolver.y = b\nb.conflicts.resolver.z = b\na->b.conflicts.resolver.z = a->b\n"
    )
    given = {alias: given_to(item) for alias, item in detection(load_text(text, base=BOTH_WAYS)).items()}
    assert {alias: [settings[f"conflicts.resolver.{name}"] for name in "xyz"] for alias, settings in given.items()} == {
        "a": ["all", "all", "all"],
        "b": ["all", "b", "a->b"],
    }


def test_a_class_that_refuses_its_settings_is_told_with_its_line(problems_of: Problems) -> None:
    (problem,) = problems_of(f"{CHOSEN}conflicts.resolver.mood = bad\n")
    assert problem.startswith("error conflicts.resolver: ")
    assert "not in the mood" in problem


def test_a_secret_of_a_class_is_given_to_it_but_not_shown(load_text: Load) -> None:
    config = load_text(f"{CHOSEN}conflicts.resolver.password = hush\n")
    assert given_to(config.conflicts[0])["conflicts.resolver.password"] == "hush"
    assert "hush" not in str([group.settings for group in explain(config)])


def test_it_is_explained_with_the_lines_that_count(load_text: Load) -> None:
    text = f"{CHOSEN}conflicts.resolver.x = 1\nb.conflicts.window.ms = 7\n"
    (group,) = [group for group in explain(load_text(text)) if group.title.startswith("conflicts")]
    assert group.title == "conflicts on b"
    shown = {setting.name: (setting.text, str(setting.origin.line or setting.origin)) for setting in group.settings}
    assert shown["conflicts.topics"] == ("orders", "5")
    assert shown["conflicts.resolver.x"] == ("1", "7")
    assert shown["conflicts.window.ms"] == ("7", "8")
    assert shown["conflicts.lateness.ms"] == ("2000", "default")
