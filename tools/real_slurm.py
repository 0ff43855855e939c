"""Have two real Slurms and the simulator run the same jobs, and tell how far their orders of starts agree.

    python -m tools.real_slurm [--seed 107] [--keep FILE]

It takes seven minutes, root, and what `make ready` installs. Two Slurms run side by side on this host, each with its
own database of accounts. The simulator replays the log of each, on the site that its files describe. FILE, a .tar.gz,
keeps those of the first.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.study.jobs.reasons import REASONS, reasons
from tests.strategies.slurm_accounts import WHY_NOT, can_run
from tests.strategies.slurm_jobs import (
    LOG,
    PARTITIONS,
    SEED,
    SITE,
    Replay,
    jobs_at_random,
    replayed,
    run_by_slurm,
    taus,
)

_LARGE_S = 5.0
_N_TOLD = 10


def main() -> None:
    """Run, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED, help="of the jobs")
    parser.add_argument("--keep", type=Path, help="where the files of the first Slurm go")
    given = parser.parse_args()
    if not can_run():
        sys.exit(WHY_NOT)
    with TemporaryDirectory() as folder:
        folders = [Path(folder) / name for name in ("first", "second")]
        for each in folders:
            each.mkdir()
        run_by_slurm(folders, jobs_at_random(Random(given.seed)))
        if given.keep:
            keep(folders[0], given.keep)
        tell([replayed(each) for each in folders])


def keep(folder: Path, to: Path) -> None:
    """Pack what a Slurm printed."""
    with tarfile.open(to, "w:gz") as packed:
        for name in (*SITE, LOG):
            packed.add(folder / name, name)


def tell(replays: list[Replay]) -> None:
    """Print how far starts agree, and why the larger differences are there."""
    first, second = replays
    _tell_row("", "tau of", {name: name for name in PARTITIONS}, "starts within 2 s", "10 s")
    for name, one in (("first", first), ("second", second)):
        _compare(f"{name} Slurm, simulator", one, one.logged_s, one.start_s)
        _compare(f"{name} Slurm, order of arrival", one, one.logged_s, one.came_s)
    _compare("first Slurm, second Slurm", first, first.logged_s - first.came_s[0], second.logged_s - second.came_s[0])
    for name, one in (("first", first), ("second", second)):
        _explain(name, one)


def _compare(what: str, replay: Replay, some_s: Floats, others_s: Floats) -> None:
    apart_s = np.abs(some_s - others_s)
    shown = {name: f"{tau:.3f}" for name, tau in taus(replay.partition, some_s, others_s).items()}
    _tell_row(what, "", shown, *(f"{100 * np.mean(apart_s <= near_s):.1f} %" for near_s in (2, 10)))


def _tell_row(what: str, of: str, by_partition: dict[str, str], *more: str) -> None:
    print(f"{what:32}{of:8}", *(f"{by_partition[name]:>7}" for name in PARTITIONS), *(f"{text:>18}" for text in more))


def _explain(name: str, replay: Replay) -> None:
    """Tell of jobs that start more than five seconds apart: how many for which reason, and the first of them."""
    codes = replay.in_order(reasons(replay.world, replay.trace, replay.allocation, _LARGE_S).astype(np.float64))
    why = [tuple(REASONS)[int(code)] if code >= 0 else "" for code in codes]
    print(f"\n{name} Slurm: waits that differ by more than {_LARGE_S:g} s")
    for reason, n in Counter(filter(None, why)).most_common():
        print(f"{n:5} {reason}")
    firsts = [job for job in np.argsort(np.minimum(replay.logged_s, replay.start_s), kind="stable") if why[job]]
    for job in firsts[:_N_TOLD]:
        print(
            f"  job {job + 1:3} of {replay.partition[job]:4} came at {replay.came_s[job]:4.0f} s, "
            f"started at {replay.logged_s[job]:4.0f} s, in the replay at {replay.start_s[job]:4.0f} s: {why[job]}"
        )


if __name__ == "__main__":
    main()
