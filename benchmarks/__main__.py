"""`python -m benchmarks NAME [--json] [--gpu] [--smoke] [--only WHAT] [--seed N] [--trials N]`.

Exits 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from benchmarks.measure import Case, Subject, as_json, as_text
from joulewise.optimise.assignments.gpu import gpu_name

SUBJECTS = {
    "day": "benchmarks.day",
    "manager": "benchmarks.manager",
    "bag": "benchmarks.bag",
    "fronts": "benchmarks.fronts",
    "cluster": "benchmarks.cluster",
    "facility": "benchmarks.facility",
    "laboratory": "benchmarks.laboratory",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=SUBJECTS)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--gpu", action="store_true", help="what is measured on a GPU, in place of the rest")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, no bars: does it still work?")
    parser.add_argument("--only", help="one group of figures")
    parser.add_argument("--seed", type=int, default=0, help="another case")
    parser.add_argument("--trials", type=int, default=8, help="over how many worlds figures of quality are averaged")
    asked = parser.parse_args()
    subject: Subject = import_module(SUBJECTS[asked.name]).SUBJECT
    case = Case(asked.seed, asked.smoke, asked.trials)
    if asked.gpu and not (subject.gpu_groups and gpu_name()):
        parser.error(
            "--gpu: there is no GPU here" if subject.gpu_groups else f"--gpu: {asked.name} has nothing for one"
        )
    names = subject.chosen(case, asked.gpu)
    if asked.only and asked.only not in names:
        parser.error(f"--only {asked.only}: must be one of {', '.join(names)}")
    result = subject.run(case, asked.only, asked.gpu)
    print((as_json if asked.json else as_text)(result))
    return 0 if all(bar["holds"] for bar in result["bars"]) else 1


if __name__ == "__main__":
    sys.exit(main())
