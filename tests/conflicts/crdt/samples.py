"""States to merge, as JSON writes them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2, width=16) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=3,
)
NAMES = st.sampled_from(["a", "b", "c"])
_SUMS = st.dictionaries(NAMES, st.integers(0, 3))
_WHEN = {"timestamp": st.integers(0, 2), "origin": NAMES}
_REGISTER = st.fixed_dictionaries({"value": JSON, **_WHEN})
_REMOVAL = st.fixed_dictionaries({"removed": st.just(True), **_WHEN})

STATES: dict[str, st.SearchStrategy[Any]] = {
    "counter": st.fixed_dictionaries({}, optional={"p": _SUMS, "n": _SUMS}),
    "g-set": st.lists(JSON, max_size=4),
    "or-set": st.fixed_dictionaries(
        {}, optional={"adds": st.dictionaries(NAMES, JSON), "removes": st.lists(NAMES, max_size=2)}
    ),
    "lww-register": _REGISTER,
    "lww-map": st.fixed_dictionaries({"entries": st.dictionaries(NAMES, _REGISTER | _REMOVAL)}),
}
