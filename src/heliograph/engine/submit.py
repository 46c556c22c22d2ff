"""The application file for spark-submit: runs the `heliograph` command from the package that lies beside it.

    spark-submit --master spark://… heliograph-submit.py run mm2.properties

`heliograph package` writes both files. This one needs nothing but Python: what it needs is in the package, which is
unpacked once, because compiled modules cannot be loaded from a zip.
"""

import os
import shutil
import sys
import zipfile
from pathlib import Path

PACKAGE = "heliograph-package.zip"
_UNPACKED = "heliograph_package"  # with `--archives heliograph-package.zip#heliograph_package`


def packages() -> Path:
    """The folder with all modules."""
    if Path(_UNPACKED).is_dir():
        return Path(_UNPACKED).resolve()
    beside = [Path(__file__).resolve().parent / PACKAGE, Path(PACKAGE).resolve()]
    found = next((path for path in beside if path.is_file()), None)
    if found is None:
        sys.exit(f"error: {PACKAGE} is not beside this file; `heliograph package FOLDER` writes both")
    return _unpacked(found)


def _unpacked(package: Path) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "heliograph")
    state = package.stat()
    folder = base / f"package-{state.st_size}-{state.st_mtime_ns}"
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        with zipfile.ZipFile(package) as archive:
            archive.extractall(unfinished)
        try:
            unfinished.rename(folder)
        except OSError:  # somebody else was faster
            shutil.rmtree(unfinished)
    return folder


def main() -> None:
    """Run the command line's command."""
    sys.path.insert(0, str(packages()))
    from heliograph.cli.main import main as heliograph

    heliograph()


if __name__ == "__main__":
    main()
