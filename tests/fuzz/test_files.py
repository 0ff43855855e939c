"""Files of users that are almost right: every one is read, or refused with a message; nothing of ours breaks on it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from joulewise.measure.meters.power_csv import read_power_csv
from joulewise.measure.plan.file import read_plan
from joulewise.study import parse_study, read_study
from joulewise.study.arena.entry import entry_of, held_against, place_to_run, read_entry, source_of
from joulewise.study.arena.sets import SETS, place_of
from joulewise.study.kinds.systems import all_kinds
from joulewise.worlds.jobs.sites.import_site import import_site, write_site
from joulewise.worlds.jobs.sites.site_file import read_site
from joulewise.worlds.jobs.trace_files import import_log, read_trace_table
from joulewise.worlds.jobs.trace_report import report_on
from tests.strategies import small, small_bags, small_facility, small_fronts, small_jobs, small_lab
from tests.strategies.altered import altered, altered_toml, as_parquet, damaged, encoded, packed
from tests.strategies.fuzzing import FINE, FIXED, LONG, REFUSED, SHORT, fresh_seed, withstand
from tests.strategies.small_arena import made_rows
from tests.strategies.small_sites import ACCOUNTS, CENTRE, GRES, NODE_LIST, NODES, QOS, SHOWN, SITE
from tests.strategies.sources import EXAMPLES
from tests.worlds.facility import test_tables as facility
from tests.worlds.jobs.test_pods import PODS
from tests.worlds.jobs.test_sacct import NEW, OLD, WIDE, wide

DATA = Path(__file__).parents[1] / "data"

TASKS = """
name = "tabled"
[system]
etc_s = "etc.csv"
machines = "machines.csv"
power_w = "power.csv"
mtbf = "1 d"
mttr = "1 h"
[workload]
tasks = "tasks.csv"
end = "1 h"
[supply]
tariff = "tariff.csv"
begins_at = "2026-01-01T00:00Z"
budget = "1 GJ"
[manager]
policy = "max-max-upt"
"""
HOURS = "timestamp,price\n2026-01-01T00:00Z,0.1\n2026-01-01T01:00Z,0.2\n2026-01-01T02:00Z,0\n"
TASK_TABLES = {
    "etc.csv": "task_type,small,large\nrender,60,30\nindex,120,\n",
    "power.csv": "task_type,small,large\nrender,10,20\nindex,10,\n",
    "machines.csv": "machine_type,count\nsmall,2\nlarge,1\n",
    "tasks.csv": "arrival_s,task_type,utility,duration_s\n0,render,linear,600\n30,index,linear,600\n90,render,,\n",
    "tariff.csv": HOURS,
}
JOBS = small_jobs.TABLED.replace('job_times = "times.csv"', 'job_times = "times.csv"\noutages = "outages.csv"')
JOB_TABLES = {
    **small_jobs.TABLES,
    "outages.csv": "cluster,nodes,start_s,end_s,planned\na,1,10,20,true\nb,2,30,60,false\n",
}
BAG = """
name = "bag"
[system]
etc_s = "etc.csv"
power_w = "power.csv"
[workload]
bag = "bag.csv"
[supply]
tariff = "tariff.csv"
[optimise]
goal = "profit"
profit_ratio = 1.2
"""
BAG_TABLES = {
    **{name: TASK_TABLES[name] for name in ("etc.csv", "power.csv", "tariff.csv")},
    "bag.csv": "task_type,count\nrender,10\nindex,5\n",
}
FACILITY = small_facility.TABLED + 'method = "greedy"\n'
FACILITY_TABLES = {
    "nodes.csv": facility.NODES,
    "cracs.csv": facility.CRACS,
    "types.csv": facility.NODE_TYPES,
    "heat.csv": facility.listed(facility.SHARES),
    "tasks.csv": facility.TASKS,
    "speeds.csv": facility.SPEEDS,
}
UNCERTAIN = """
name = "uncertain"
[system]
etc_s = "etc.csv"
power_w = "power.csv"
samples = "samples.csv"
[workload]
tasks = "tasks.csv"
[optimise]
goal = "utility"
"""
UNCERTAIN_TABLES = {
    **{name: TASK_TABLES[name] for name in ("etc.csv", "power.csv", "tasks.csv")},
    "samples.csv": "task_type,machine_type,pstate,time_s,power_w\nrender,small,0,56,18\nrender,small,0,65,17\n",
}
TABLES = (
    (TASKS, TASK_TABLES), (JOBS, JOB_TABLES), (BAG, BAG_TABLES), (FACILITY, FACILITY_TABLES),
    (UNCERTAIN, UNCERTAIN_TABLES),
)  # fmt: skip


STUDIES = (
    small.TEXT, small_jobs.CLUSTERS, small_bags.FRONT, small_bags.PROFIT, small_fronts.UTILITY, small_facility.ROOM,
)  # fmt: skip
LOGS = (
    small_jobs.LOG, (DATA / "sacct.txt").read_text(), json.dumps({"jobs": [OLD, NEW]}, indent=1), PODS,
    "\n".join((WIDE, wide(1, "cpu=8,gres/gpu:a100=3,gres/gpu=4,mem=16G", "license/matlab=1", name="a|b"), wide(2))),
)  # fmt: skip
METERS = (
    "time,power_w\n2026-03-01T12:00:00+00:00,10\n2026-03-01T12:00:01+00:00,12.5\n2026-03-01T12:00:02+00:00,11\n",
    "Date;Time;Energy (kWh)\n2026-03-01;12:00:00;1,5\n2026-03-01;12:00:01;1,6\n2026-03-01;12:00:03;1,7\n",
    "timestamp\tpower\n1772366400\t10\n1772366401\t11\n1772366402\t\n",
)
SLURM = {
    "slurm.conf": CENTRE,
    "nodes.conf": NODES,
    "gres.conf": GRES,
    "shown.txt": SHOWN,
    "list.csv": NODE_LIST,
    "qos.txt": QOS,
    "accounts.txt": ACCOUNTS,
}
PLANS = ((EXAMPLES / "measure-synthetic.toml").read_text(), (EXAMPLES / "measure.toml").read_text(), small_lab.TEXT)


def fuzz_studies(seed: int, cases: int) -> Counter[str]:
    """Altered studies of every kind, read as `joulewise check` reads them."""

    def attempt_study(draw: Random, folder: Path) -> None:
        path = folder / "study.toml"
        path.write_bytes(encoded(altered_toml(draw.choice(STUDIES), draw), draw))
        read_study(path)

    return withstand(attempt_study, seed, cases)


def fuzz_templates(seed: int, cases: int) -> Counter[str]:
    """Altered templates of `joulewise new`, without the worlds that they stand for, which are large."""
    templates = [f'name = "new"\n{kind.template}' for kind in all_kinds().values()]

    def attempt_template(draw: Random, folder: Path) -> None:
        parse_study(altered_toml(draw.choice(templates), draw), "study.toml", folder)

    return withstand(attempt_template, seed, cases)


def fuzz_tables(seed: int, cases: int) -> Counter[str]:
    """Studies of which one table is altered: as CSV, packed or as Parquet."""

    def attempt_table(draw: Random, folder: Path) -> None:
        study, tables = draw.choice(TABLES)
        for name, cells in tables.items():
            (folder / name).write_text(cells)
        wrong = draw.choice(list(tables))
        name, make = draw.choice(_FORMS)
        (folder / f"{wrong}{name}").write_bytes(make(tables[wrong], draw))
        (folder / "study.toml").write_text(study.replace(f'"{wrong}"', f'"{wrong}{name}"'))
        read_study(folder / "study.toml")

    return withstand(attempt_table, seed, cases)


_FORMS: tuple[tuple[str, Callable[[str, Random], bytes]], ...] = (
    ("", lambda cells, draw: encoded(altered(cells, draw), draw)),
    ("", lambda cells, draw: encoded(altered(cells, draw), draw)),
    (".gz", lambda cells, draw: packed(altered(cells, draw).encode("utf-8", "surrogatepass"), draw)),
    (".parquet", as_parquet),
)


def fuzz_logs(seed: int, cases: int) -> Counter[str]:
    """Altered logs of jobs in every format, plain and packed."""

    def attempt_log(draw: Random, folder: Path) -> None:
        data = encoded(altered(draw.choice(LOGS), draw), draw)
        (folder / "log").write_bytes(packed(data, draw) if draw.random() < 0.1 else data)
        read_trace_table("log", folder)

    return withstand(attempt_log, seed, cases)


def fuzz_imports(seed: int, cases: int) -> Counter[str]:
    """Altered logs imported and reported on, and damaged imports."""

    def attempt_import(draw: Random, folder: Path) -> None:
        log, out = folder / "log", folder / "jobs.parquet"
        log.write_text(altered(small_jobs.LOG, draw), errors="replace")
        report_on(out, import_log(log, out)).first_at  # noqa: B018 (it is computed)
        out.write_bytes(damaged(out.read_bytes(), draw))
        read_trace_table(out.name, folder)

    return withstand(attempt_import, seed, cases)


def fuzz_sites(seed: int, cases: int) -> Counter[str]:
    """Altered files of sites, and those of a Slurm of which one is altered, imported."""

    def attempt_site(draw: Random, folder: Path) -> None:
        wrong = draw.choice(("site.toml", *SLURM))
        if wrong == "site.toml":
            (folder / wrong).write_bytes(encoded(altered_toml(SITE, draw), draw))
            read_site(wrong, folder)
            return
        for name, text in SLURM.items():
            data = text.encode()
            (folder / name).write_bytes(encoded(altered(text, draw), draw) if name == wrong else data)
        alone = wrong in ("shown.txt", "list.csv")
        names = [wrong] if alone else ["slurm.conf", "qos.txt", "accounts.txt"]
        write_site(import_site([folder / name for name in names]), folder / "site.toml", names)

    return withstand(attempt_site, seed, cases)


def fuzz_plans(seed: int, cases: int) -> Counter[str]:
    """Altered plans of the laboratory."""

    def attempt_plan(draw: Random, folder: Path) -> None:
        (folder / "plan.toml").write_bytes(encoded(altered_toml(draw.choice(PLANS), draw), draw))
        read_plan(folder / "plan.toml")

    return withstand(attempt_plan, seed, cases)


def fuzz_meters(seed: int, cases: int) -> Counter[str]:
    """Altered logs of power meters."""

    def attempt_meter(draw: Random, folder: Path) -> None:
        (folder / "meter.csv").write_bytes(encoded(altered(draw.choice(METERS), draw), draw))
        read_power_csv(folder / "meter.csv").between(1_772_366_400.0, 1_772_366_403.0)

    return withstand(attempt_meter, seed, cases)


def fuzz_entries(seed: int, cases: int) -> Counter[str]:
    """Altered entries of the arena, held against what they were."""
    rows = made_rows({"prices": [[90.0, 80.0], [70.0, None]]})

    def attempt_entry(draw: Random, folder: Path) -> None:
        path = folder / "entry.json"
        whole = entry_of(place_of("prices"), source_of(place_of("prices")), [(SETS["tasks"], rows)])
        whole.write(path)
        path.write_bytes(encoded(altered(path.read_text(), draw), draw))
        entry = read_entry(path)
        place_to_run(entry, path, folder)
        held_against(entry.rows, whole.rows)

    return withstand(attempt_entry, seed, cases)


FUZZERS = {
    "studies": fuzz_studies, "templates": fuzz_templates, "tables": fuzz_tables, "logs": fuzz_logs,
    "imports": fuzz_imports, "sites": fuzz_sites, "plans": fuzz_plans, "meters": fuzz_meters, "entries": fuzz_entries,
}  # fmt: skip
"""What takes a seed and a number of cases, and counts what became of them."""


@pytest.mark.thorough("damages whole files")
@pytest.mark.parametrize("kind", FUZZERS)
def test_files_are_read_or_refused(kind: str) -> None:
    outcomes = FUZZERS[kind](FIXED, SHORT)
    assert min(outcomes[FINE], outcomes[REFUSED]) > 0, outcomes


@pytest.mark.thorough("thousands of files")
@pytest.mark.parametrize("kind", FUZZERS)
def test_thousands_of_files_are_read_or_refused(kind: str) -> None:
    FUZZERS[kind](FIXED, LONG)
    FUZZERS[kind](fresh_seed(), LONG)
