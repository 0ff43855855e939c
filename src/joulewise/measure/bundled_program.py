"""A bundled kernel as a program: `python -m joulewise.measure.bundled_program triad --bytes 100000000 --rounds 50`.

It says when it begins, after everything is compiled, allocated and filled, and ends at once when its work is done.
"""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    """Do the work that is asked for."""
    from joulewise.measure.bundled_kernels import KERNELS, prepared

    parser = argparse.ArgumentParser(description="A kernel of known memory use, for measuring.")
    parser.add_argument("kernel", choices=list(KERNELS))
    parser.add_argument("--bytes", type=int, required=True, help="memory that it works on")
    parser.add_argument("--rounds", type=int, required=True, help="how often it does its work")
    asked = parser.parse_args()
    work = prepared(asked.kernel, asked.bytes)
    if "JOULEWISE_BEGIN" in os.environ:
        os.write(int(os.environ["JOULEWISE_BEGIN"]), b"!")
    work(asked.rounds)


if __name__ == "__main__":
    sys.modules["scipy"] = None  # type: ignore[assignment]  # numba would load it, for linear algebra that nobody uses
    main()
    os._exit(0)  # the system takes the memory back: nothing more is to be timed
