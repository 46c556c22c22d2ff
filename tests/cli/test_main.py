from __future__ import annotations

import pytest

from heliograph import __version__
from heliograph.cli.main import main


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"heliograph {__version__}\n"
