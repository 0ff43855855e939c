"""`python -m benchmarks [NAME ...] [--json] [--gpu] [--smoke] [--page] [--only WHAT] [--seed N] [--trials N]`.

Exits 1 if a bar is missed; `--help` tells all options.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.measure import as_json, as_text
from benchmarks.subjects import SUBJECTS, case_of, results, subject_of
from joulewise.optimise.gpu import gpu_name


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all unless named: {', '.join(SUBJECTS)}")
    parser.add_argument("--json", action="store_true", help="one JSON object for each on standard output")
    parser.add_argument("--gpu", action="store_true", help="what is measured on a GPU, in place of the rest")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, no bars: does it still work?")
    parser.add_argument("--page", action="store_true", help="write the result into its page of the docs as well")
    parser.add_argument("--only", help="one group of figures")
    parser.add_argument("--seed", type=int, default=0, help="another case")
    parser.add_argument("--trials", type=int, default=8, help="over how many worlds figures of quality are averaged")
    parser.add_argument("--workers", type=int, default=1, help="processes; for smoke runs, as figures need quiet")
    asked = parser.parse_args()
    names = asked.names or list(SUBJECTS)
    _refuse(parser, asked, names)
    holds = True
    for result in results(names, asked):
        print((as_json if asked.json else as_text)(result), flush=True)
        if asked.page and (write_page := subject_of(result["name"]).write_page):
            write_page(result)
        holds &= all(bar["holds"] for bar in result["bars"])
    return 0 if holds else 1


def _refuse(parser: argparse.ArgumentParser, asked: argparse.Namespace, names: list[str]) -> None:
    """End with a message where a benchmark cannot give what is asked of it."""
    if strangers := [name for name in names if name not in SUBJECTS]:
        parser.error(f"{', '.join(strangers)}: must be one of {', '.join(SUBJECTS)}")
    if asked.page and (asked.smoke or asked.only):
        parser.error("--page: must be a whole result, without --smoke and --only")
    if asked.page and not any(subject_of(name).write_page for name in names):
        parser.error(f"--page: {', '.join(names)} has none")
    for name in names if asked.gpu or asked.only else ():
        subject = subject_of(name)
        if asked.gpu and not (subject.gpu_groups and gpu_name()):
            parser.error("--gpu: there is no GPU here" if subject.gpu_groups else f"--gpu: {name} has nothing for one")
        groups = subject.chosen(case_of(asked), asked.gpu)
        if asked.only and asked.only not in groups:
            parser.error(f"--only {asked.only}: must be one of {', '.join(groups)}")


if __name__ == "__main__":
    sys.exit(main())
