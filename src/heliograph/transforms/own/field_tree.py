"""Several paths to fields as one tree, so that a value is walked once for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from heliograph.transforms.smt.field_path import FieldPath

FieldTree: TypeAlias = "dict[str, FieldTree | None]"  # None: the field itself is meant, with all that is in it


def field_tree(texts: Iterable[str]) -> FieldTree:
    """The tree of some paths in Kafka's syntax V2; ValueError if one is none.

    A path with dots also means the top-level field that is called so, dots and all.
    """
    tree: FieldTree = {}
    for text in texts:
        steps = FieldPath.parse(text, "V2").steps
        if "" in steps:
            raise ValueError(f"{text!r} has an empty name in it")
        _add(tree, steps)
        if "`" not in text:
            tree[text] = None
    return tree


def _add(tree: FieldTree, steps: tuple[str, ...]) -> None:
    for step in steps[:-1]:
        below = tree.setdefault(step, {})
        if below is None:
            return
        tree = below
    tree[steps[-1]] = None
