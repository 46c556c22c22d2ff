"""Makes deliberate defects, several at a time, and sees whether the tests notice.

python -m tests.mutations.runner               all of them, from where an interrupted run with the same code stopped
python -m tests.mutations.runner --again       all of them from the start
python -m tests.mutations.runner --workers 3   so many at a time; otherwise as many as there are cores
python -m tests.mutations.runner NAME          these, whatever is known of them
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from tests.mutations.crew import Crew
from tests.mutations.defect import Defect
from tests.mutations.defects import DEFECTS
from tests.mutations.known import Known
from tests.mutations.trial import ROOT, Outcome, Result, Trial, Verdict, junit_name
from tests.running import durations
from tests.running.sharing import CORES, is_light

_OUTPUT = ROOT / ".heliograph"
_SHARE = 8  # modules that are checked in one run: they share its brokers
Say = Callable[[str], None]


def judge_all(defects: Sequence[Defect], crew: Crew, known: Known, say: Say) -> list[Result]:
    """What becomes of each defect, in their order.

    Tests first have to pass without any defect. Where they do not, a failure would mean nothing.
    """
    crew.trials[0].check_import()
    results = {defect: result for defect in defects if (result := known.result(defect))}
    wanted = [defect for defect in defects if defect not in results]
    if results:
        say(f"{_count(len(results), 'defect')} caught with this code before")
    unsound = _check_tests(wanted, crew, known, say)
    for result in (_unfounded(defect, unsound) for defect in wanted):
        if result:
            results[result.defect] = result
            say(_line(result))
    judged = _dearest_first([defect for defect in wanted if defect not in results])
    with closing(crew.each(judged, Trial.judge)) as finished:
        for number, (defect, result) in enumerate(finished, 1):
            results[defect] = result
            known.add(result)
            say(f"[{number}/{len(judged)}] {_line(result)}")
    return [results[defect] for defect in defects]


def _check_tests(defects: Iterable[Defect], crew: Crew, known: Known, say: Say) -> dict[str, str]:
    """The tests that do not pass without a defect, and why."""
    tests = list(dict.fromkeys(test for defect in defects for test in defect.tests if not known.is_sound(test)))
    if not tests:
        return {}
    say(f"{_count(len(tests), 'test')} without a defect, with {_count(len(crew.trials), 'worker')}")
    unsound: dict[str, str] = {}
    with closing(crew.each(shares(tests), _run_without_defect)) as finished:
        for share, outcome in finished:
            found = unsound_tests(share, outcome)
            known.add_sound(test for test in share if test not in found)
            unsound |= dict.fromkeys(found, outcome.last_lines())
            say(f"  {len(share) - len(found)} of {len(share)} pass")
    return unsound


def _run_without_defect(trial: Trial, tests: Sequence[str]) -> Outcome:
    return trial.run(tests, is_over_at_the_first=False)


def shares(tests: Iterable[str]) -> list[list[str]]:
    """Tests that are run together: those of a module always are, and none waits for brokers that only others need."""
    modules: dict[str, list[str]] = {}
    for test in tests:
        modules.setdefault(_module(test), []).append(test)
    found: list[list[str]] = []
    for is_wanted in (lambda name: not is_light(name), is_light):
        names = sorted(filter(is_wanted, modules), key=lambda name: (-_seconds(name), name))
        count = -(-len(names) // _SHARE)
        # Dealt like cards: each share gets a dear one, then each a cheaper one.
        found += [[test for name in names[start::count] for test in modules[name]] for start in range(count)]
    return found


def unsound_tests(tests: Sequence[str], outcome: Outcome) -> set[str]:
    """Those of a module in which something failed; all of them if the run itself went wrong."""
    if outcome.is_green:
        return set()
    modules = {name.partition("::")[0] for name in (*outcome.failed, *outcome.broken)}
    found = {test for test in tests if junit_name(_module(test)) in modules}
    return found if outcome.is_whole and outcome.passed and found else set(tests)


def _unfounded(defect: Defect, unsound: dict[str, str]) -> Result | None:
    """A defect cannot be judged by tests that fail anyway."""
    reasons = [
        f"without a defect, {test} does not pass:\n{why}" for test, why in unsound.items() if test in defect.tests
    ]
    return Result(defect, Verdict.NOT_JUDGED, 0.0, reason=reasons[0]) if reasons else None


def _dearest_first(defects: Iterable[Defect]) -> list[Defect]:
    """So that no worker is left alone with a long one at the end."""
    return sorted(defects, key=lambda defect: -sum(_seconds(name) for name in set(map(_module, defect.tests))))


def _seconds(module: str) -> float:
    return durations.known().get(module, 0.0)


def _module(test: str) -> str:
    return test.partition("::")[0]


def _line(result: Result) -> str:
    by = f" by {', '.join(result.by)}" if result.verdict is Verdict.CAUGHT else ""
    reason = f"\n{result.reason}" if result.reason else ""
    return f"{result.seconds:5.1f} s  {result.defect.name}: {result.verdict.value}{by}{reason}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def summary(results: Sequence[Result]) -> str:
    """In one line: how many of what, and the sum of what each took."""
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


def main(arguments: Sequence[str], say: Say = lambda line: print(line, flush=True)) -> int:
    """Judge the named defects, or all; 0 if each was caught."""
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    try:
        defects = chosen(options.names)
        with tempfile.TemporaryDirectory(prefix="heliograph-mutations-") as folder:
            crew = Crew(Path(folder), min(options.workers, len(defects)))
            known = Known(_OUTPUT / "mutations" / f"{crew.code}.jsonl")
            if options.again:
                known.forget()
            known.judge_again(defects if options.names else ())
            results = judge_all(defects, crew, known, say)
    except (ValueError, RuntimeError) as error:
        say(str(error))
        return 2
    write_report(results, _OUTPUT)
    missed = [result for result in results if result.verdict is not Verdict.CAUGHT]
    for result in missed:
        say(f"{result.defect.name}: {result.verdict.value}: {result.defect.guarantee}")
    minutes = (time.monotonic() - began) / 60
    say(f"{summary(results)} of work, {minutes:.1f} minutes with {_count(len(crew.trials), 'worker')}")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutations.runner", description="Makes deliberate defects, and sees whether tests notice."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a defect; without names all are judged")
    parser.add_argument("--workers", type=int, default=CORES, choices=range(1, 65), metavar="N", help="at a time")
    parser.add_argument("--again", action="store_true", help="also judge what was caught with the same code before")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
