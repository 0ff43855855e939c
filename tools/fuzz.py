"""`python -m tools.fuzz CASES`: so many cases of every kind, from a seed that it tells; ends at the first fault."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable

from tests.fuzz.test_files import FUZZERS as FILES
from tests.fuzz.test_results import RESULT_FUZZERS
from tests.strategies.fuzzing import fresh_seed

FUZZERS: dict[str, Callable[[int, int], Counter[str]]] = {**FILES, **RESULT_FUZZERS}


def main() -> None:
    """Try every kind, and count what became of the cases."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("cases", type=int, help="how many cases of each kind")
    parser.add_argument("--seed", type=int, default=fresh_seed(), help="another seed; a new one if left out")
    parser.add_argument("--only", choices=tuple(FUZZERS), help="one kind instead of all")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    for kind in [asked.only] if asked.only else FUZZERS:
        began = time.perf_counter()
        outcomes = FUZZERS[kind](asked.seed, asked.cases)
        counts = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(outcomes.items()))
        print(f"{kind}: {asked.cases:,} cases, {counts}, {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
