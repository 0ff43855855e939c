"""A bundled kernel as a program: `python -m joulewise.measure.bench.bundled_program triad --rounds 50`.

When everything is compiled, allocated and filled, it waits to be let go; when its work is done, it does so again. By
hand, it does its work once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator


def main() -> None:
    """Do the work that is asked for."""
    from joulewise.measure.bench.bundled_kernels import KERNELS, prepared

    parser = argparse.ArgumentParser(description="A kernel of known memory use, for measuring.")
    parser.add_argument("kernel", choices=list(KERNELS))
    parser.add_argument("--bytes", type=int, required=True, help="memory that it works on")
    parser.add_argument("--rounds", type=int, required=True, help="how often it does its work")
    asked = parser.parse_args()
    work = prepared(asked.kernel, asked.bytes)
    for _ in _turns():
        work(asked.rounds)


def _turns() -> Iterator[None]:
    """One for each time that the work is wanted."""
    if "JOULEWISE_GO" not in os.environ:
        yield
        return
    begin, go = (int(os.environ[name]) for name in ("JOULEWISE_BEGIN", "JOULEWISE_GO"))
    while os.write(begin, b"!") and os.read(go, 1):
        yield


if __name__ == "__main__":
    sys.modules["scipy"] = None  # type: ignore[assignment]  # numba would load it, for linear algebra that nobody uses
    main()
    os._exit(0)  # the system takes the memory back: nothing more is to be timed
