"""What runs of kills have shown so far, one line for each run: `python -m tests.chaos.kill_runs` adds them up."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.chaos.strikes import Toll

_ROOT = Path(__file__).parents[2]
FILE = _ROOT / ".heliograph" / "kills.jsonl"
EQUAL = "equal"


@dataclass(frozen=True)
class KillRun:
    """One run of kills under load."""

    seed: int
    kills: dict[str, int]  # by what was killed
    seconds: int
    slowest: float  # recovery of all
    records: int  # that were compared
    verdict: str
    commit: str
    ended: str

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost or repeated, and everything recovered in time."""
        return self.verdict == EQUAL

    def __str__(self) -> str:
        return (
            f"{self.ended}  {self.commit}  seed {self.seed}: {sum(self.kills.values())} kills in {self.seconds} s, "
            f"slowest recovery {self.slowest} s, {self.records} records: {self.verdict}"
        )


class Notes:
    """What a run finds out until it ends."""

    records = 0


@contextmanager
def written_down(seed: int, toll: Toll, file: Path = FILE) -> Iterator[Notes]:
    """Add a line for the run inside, however it ends."""
    notes, began, verdict = Notes(), time.monotonic(), EQUAL
    try:
        yield notes
    except BaseException as error:
        verdict = f"FAILED: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise
    finally:
        seconds = round(time.monotonic() - began)
        ended = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        slowest = round(toll.slowest, 1)
        run = KillRun(seed, dict(toll.kills), seconds, slowest, notes.records, verdict, _commit(), ended)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as lines:
            lines.write(json.dumps(asdict(run)) + "\n")


def read(file: Path = FILE) -> list[KillRun]:
    """All runs so far."""
    return [KillRun(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def summed_up(runs: Sequence[KillRun]) -> str:
    """All runs in one sentence. Failed ones are named first, and what they killed does not count."""
    good = [run for run in runs if run.is_good]
    kills = sum((Counter(run.kills) for run in good), Counter[str]())
    parts = ", ".join(f"{part} {count}" for part, count in kills.most_common())
    failed = [f"seed {run.seed} at {run.commit}: {run.verdict}" for run in runs if not run.is_good]
    lines = [f"{len(failed)} of {len(runs)} runs FAILED: {'; '.join(failed)}"] if failed else []
    if good:
        seconds, slowest = sum(run.seconds for run in good), max(run.slowest for run in good)
        lines.append(
            f"{kills.total()} kills ({parts}) in {len(good)} runs with nothing lost and nothing repeated: "
            f"{sum(run.records for run in good)} records compared, "
            f"{seconds / 60:.0f} minutes, slowest recovery {slowest} s, "
            f"commits {', '.join(sorted({run.commit for run in good}))}"
        )
    return "\n".join(lines) or "no runs so far"


def _commit() -> str:
    head, changes = (
        subprocess.run(["git", *words], capture_output=True, text=True, check=False, cwd=_ROOT).stdout.strip()
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain"])
    )
    return f"{head or 'unknown'}{' with changes' if changes else ''}"


if __name__ == "__main__":
    for item in read():
        print(item)
    print(summed_up(read()))
