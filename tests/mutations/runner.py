"""Makes one deliberate defect after the other, and sees whether the tests notice: python -m tests.mutations.runner."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.mutations.defect import Defect
from tests.mutations.defects import DEFECTS
from tests.mutations.trial import ROOT, Result, Trial, Verdict

_OUTPUT = ROOT / ".heliograph"
Say = Callable[[str], None]


def judge_all(defects: Sequence[Defect], trial: Trial, say: Say) -> list[Result]:
    """What becomes of each defect; first all tests must pass without any, or their failures would mean nothing."""
    trial.check_import()
    tests = list(dict.fromkeys(test for defect in defects for test in defect.tests))
    say(f"{len(tests)} tests without a defect")
    sound = trial.run(tests, is_over_at_the_first=False)
    if not sound.is_green:
        raise RuntimeError(f"without a defect, tests do not pass:\n{sound.last_lines()}")
    results: list[Result] = []
    for number, defect in enumerate(defects, 1):
        results.append(trial.judge(defect))
        say(f"[{number}/{len(defects)}] {_line(results[-1])}")
    return results


def _line(result: Result) -> str:
    by = f" by {', '.join(result.by)}" if result.verdict is Verdict.CAUGHT else ""
    reason = f"\n{result.reason}" if result.reason else ""
    return f"{result.seconds:5.1f} s  {result.defect.name}: {result.verdict.value}{by}{reason}"


def summary(results: Sequence[Result]) -> str:
    """In one line: how many of what."""
    counts = Counter(result.verdict for result in results)
    parts = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
    return f"{len(results)} defects: {', '.join(parts)}; {sum(result.seconds for result in results):.0f} s"


def write_report(results: Sequence[Result], folder: Path) -> None:
    """The same for programs and for people."""
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "name": result.defect.name,
            "guarantee": result.defect.guarantee,
            "file": result.defect.file,
            "verdict": result.verdict.value,
            "by": list(result.by),
            "seconds": round(result.seconds, 1),
        }
        for result in results
    ]
    (folder / "mutations.json").write_text(json.dumps(rows, indent=2) + "\n")
    lines = ["| defect | what it breaks | verdict | by | s |", "|---|---|---|---|---|"]
    lines += [
        f"| {item.defect.name} | {item.defect.guarantee} | {item.verdict.value} | {', '.join(item.by)} "
        f"| {item.seconds:.1f} |"
        for item in results
    ]
    (folder / "mutations.md").write_text("\n".join([summary(results), "", *lines]) + "\n")


def chosen(names: Sequence[str]) -> list[Defect]:
    """The defects of these names, or all; ValueError for a name that there is not."""
    known = {defect.name: defect for defect in DEFECTS}
    if missing := [name for name in names if name not in known]:
        raise ValueError(f"no such defect: {', '.join(missing)}")
    return [known[name] for name in names] if names else list(DEFECTS)


def main(names: Sequence[str], say: Say = lambda line: print(line, flush=True)) -> int:
    """Judge the named defects, or all; 0 if each was caught."""
    try:
        defects = chosen(names)
        with tempfile.TemporaryDirectory(prefix="heliograph-mutations-") as folder:
            results = judge_all(defects, Trial(Path(folder)), say)
    except (ValueError, RuntimeError) as error:
        say(str(error))
        return 2
    write_report(results, _OUTPUT)
    say(summary(results))
    return 0 if all(result.verdict is Verdict.CAUGHT for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
