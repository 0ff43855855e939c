"""Names in the file of a site that a log does not know, and what its jobs ask for in vain, are worth a word."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from joulewise.study import parse_study
from joulewise.study.kinds.systems import all_kinds

SITE = """name = "oak"
[[nodes]]
name = "cpu"
count = 2
cores = 8
[[partition]]
name = "batch"
nodes = ["cpu"]
"""
STUDY = 'name = "x"\n[system]\nsite = "site.toml"\n[workload]\ntrace = "log.txt"\n{}[scheduler]\npolicy = "easy"\n'
HEAD = "JobID|Submit|ElapsedRaw|AllocCPUS|User|Account|QOS|Licenses"
TOLD = f"{HEAD}\n1|1000|60|1|ann|physics|normal|solver:1\n2|1010|60|1|ben|maths|normal|\n"
UNTOLD = "JobID|Submit|ElapsedRaw|AllocCPUS\n1|1000|60|1\n2|1010|60|1\n"
ACCOUNTS = '[[account]]\nname = "science"\nmax_jobs = 9\n[[account]]\nname = "physics"\nparent = "science"\n'
SOLVER = '[[licence]]\nname = "solver"\ncount = 1\n'
MANY = "".join(f"{job}|{1000 + 60 * job}|60|1\n" for job in range(50))


def said(folder: Path, site: str, log: str = TOLD, workload: str = "") -> list[str]:
    (folder / "site.toml").write_text(SITE + site)
    (folder / "log.txt").write_text(log)
    study = parse_study(STUDY.format(workload), "study.toml", folder, check_inputs=True)
    return [str(warning) for warning in study.warnings]


@pytest.mark.parametrize(
    ("site", "log", "expected"),
    [
        ('[[account]]\nname = "phisics"\nmax = {cores = 1}\n', TOLD,
         "found account that has limits (phisics); no job of the log is of it: they hold nobody"),
        (ACCOUNTS + '[[user]]\nname = "ben"\naccount = "physics"\nmax_jobs = 1\n', TOLD,
         "found user that has limits (ben of physics); no job of the log is of it"),
        ('[[qos]]\nname = "normall"\nmax_jobs = 1\n[[qos]]\nname = "long"\nmax_jobs = 1\n', TOLD,
         "found QOS that have limits (normall, long); no job of the log is of them"),
        ('[[qos]]\nname = "normal"\nmax_jobs = 1\n', UNTOLD,
         "found QOS that has limits (normal); the log tells no QOS of its jobs: they hold nobody"),
        ('denied_accounts = ["phisics"]\n', TOLD, "found account that partitions are closed to (phisics); no job of"),
        ('[[reservation]]\nname = "r"\nstart = "0 h"\nend = "1 h"\nnodes = {cpu = 1}\nusers = ["anne"]\n', TOLD,
         "found user that reservations are for (anne); no job of the log is of it: naming it changes nothing"),
    ],
)  # fmt: skip
def test_names_of_which_no_job_is_are_told(tmp_path: Path, site: str, log: str, expected: str) -> None:
    found = said(tmp_path, site + SOLVER, log)
    assert len(found) == 1
    assert expected in found[0]


def test_names_of_which_jobs_are_say_nothing(tmp_path: Path) -> None:
    kept = '[[reservation]]\nname = "r"\nstart = "0 h"\nend = "1 h"\nnodes = {cpu = 1}\nusers = ["-ann"]\n'
    users = '[[user]]\nname = "ann"\naccount = "physics"\nmax_jobs = 1\n'
    qos = '[[qos]]\nname = "normal"\nmax_jobs = 1\n[[qos]]\nname = "unlimited"\n'
    assert said(tmp_path, ACCOUNTS + users + qos + kept + SOLVER) == []


def test_licences_that_the_site_lacks_are_told(tmp_path: Path) -> None:
    (found,) = said(tmp_path, "")
    assert "found 1 jobs with licences that the site does not have (solver); replayed as if there were" in found


def test_a_window_in_which_hardly_any_job_comes_is_told(tmp_path: Path) -> None:
    log = UNTOLD.splitlines()[0] + "\n" + MANY
    assert said(tmp_path, "", log, 'start = "20 min"\n') == []
    (found,) = said(tmp_path, "", log, 'start = "49 min"\n')
    assert "a counted window in which 1 of 50 jobs comes; waits are told of these alone" in found


def test_a_budget_that_is_too_small_for_all_jobs_is_told(tmp_path: Path) -> None:
    powered = SITE.replace("cores = 8\n", 'cores = 8\nidle_power = "1 W"\ncore_power = "10 W"\n')
    (tmp_path / "site.toml").write_text(powered)
    (tmp_path / "log.txt").write_text(f"{UNTOLD.splitlines()[0]}\n{MANY}")

    def told(budget: str) -> list[str]:
        text = STUDY.format('end = "1 h"\n') + f'[supply]\nbudget = "{budget}"\nday = "1 h"\n'
        return [str(each) for each in parse_study(text, "study.toml", tmp_path, check_inputs=True).warnings]

    assert told("40 kJ") == []
    (found,) = told("20 kJ")
    needed = (2 * 3600 + 50 * 60 * 10) / 1000
    assert "supply.budget: found 20 kJ for each of 1 day; with idle nodes, the jobs that come in the counted" in found
    assert f"use {needed:g} kJ or more; some may never start" in found


def test_jobs_of_a_log_that_never_started_are_told_after_its_runs() -> None:
    runs = pl.DataFrame(
        {"workload.trace": ["log.txt"] * 2, "workload.rules": [None] * 2, "system.site": ["site.toml"] * 2,
         "supply.budget_j": [None, 1e6], "jobs_waiting": [0, 12], "jobs_impossible": [3, 3]}
    )  # fmt: skip
    told = list(all_kinds()["jobs"].sentences(runs, ()))
    assert "Up to 3 jobs of a run can never start on the site, for want of room or by a limit: `joulewise" in told[1]
    assert told[2].startswith("Up to 12 jobs of a run had not started at its end, and no mean of waits has them;")
    assert told[3].startswith("With others it was 0: where that differs")
