from __future__ import annotations

import pytest

from tests.package.distributions import Distributions, build
from tests.package.environment import Environment, beside_this_one


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Wheel and source distribution, built once."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The package from its wheel; all that it needs as in this environment."""
    return beside_this_one(tmp_path_factory.mktemp("installed") / "venv", distributions.wheel)
