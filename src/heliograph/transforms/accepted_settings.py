"""The settings that a transform or predicate gets: checked, unless it takes whatever there is."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.transforms.stage import Predicate, Transform
from heliograph.transforms.stage_settings import RESERVED, checked_settings


def accepted_settings(stage: Transform | Predicate, given: Mapping[str, str]) -> dict[str, str]:
    """What to configure a stage with; ValueError tells all that is wrong.

    A Python class without a table of options gets everything, and says itself what it does not like.
    """
    if getattr(stage, "takes_any_setting", False):
        return {key: text.strip() for key, text in given.items() if key not in RESERVED}
    return checked_settings(stage.OPTIONS, given)
