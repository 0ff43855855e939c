"""From records of Slurm's accounting to jobs, whatever form of sacct they are from: its names, cells and states."""

from __future__ import annotations

import polars as pl

from joulewise.worlds.jobs import tres
from joulewise.worlds.jobs.logs import LARGEST, SCHEMA, Log, frame_of

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("JobID", "JobIDRaw"),
    "submit": ("Submit",),
    "eligible": ("Eligible",),
    "start": ("Start",),
    "end": ("End",),
    "elapsed_s": ("ElapsedRaw",),
    "elapsed": ("Elapsed",),
    "limit_min": ("TimelimitRaw",),
    "limit": ("Timelimit",),
    "cores": ("AllocCPUS", "NCPUS"),
    "given": ("AllocTRES",),
    "requested_cores": ("ReqCPUS",),
    "asked": ("ReqTRES",),
    "nodes": ("AllocNodes", "NNodes"),
    "requested_nodes": ("ReqNodes",),
    "memory": ("ReqMem",),
    "licences": ("Licenses",),
    "features": ("Constraints",),
    "energy_j": ("ConsumedEnergyRaw",),
    "state": ("State",),
    "user": ("User",),
    "group": ("Account", "Group"),
    "queue": ("QOS",),
    "partition": ("Partition",),
    "cluster": ("Cluster",),
    "application": ("JobName",),
    "reservation": ("Reservation",),
}
"""What is read, and by which names versions of sacct call it; the first that is there counts."""

_UNTOLD = ("", "Unknown", "None", "None assigned", "(null)")
_NONE = r"|Unknown|None|None assigned|\(null\)|(?i:unlimited|partition_limit|invalid)"
_DAY_TIME = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?"
_DATE = rf"^{_DAY_TIME}\s?(?:Z|([+-])(\d\d):?(\d\d))?$"
_DURATION = r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?$"
_WEIGHTS = (86_400, 3_600, 60, 1)
_MEMORY = r"^([\d.]+)([KMGTP]?)([cn]?)$"
_MEMORY_IN_ALL = r"(?:^|,)mem=([\d.]+[KMGTP]?)"
_NO_MEMORY = r"^0+\D*$"
_KILO = {"": 2**10, "K": 1, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}

PLAIN_DATE = rf"^{_DAY_TIME}$"
"""An instant of which only the log's own clock tells when it was."""

_INSTANT, _LENGTH, _NUMBER = (
    rf"^(?:{form}|{_NONE})$" for form in (rf"{_DATE[1:-1]}|\d+", rf"{_DURATION[1:-1]}", r"-?\d+(?:\.\d+)?")
)
FORMS = {
    **dict.fromkeys(("submit", "eligible", "start", "end"), _INSTANT),
    **dict.fromkeys(("elapsed", "limit"), _LENGTH),
    **dict.fromkeys(
        ("elapsed_s", "limit_min", "cores", "requested_cores", "nodes", "requested_nodes", "energy_j"), _NUMBER
    ),
}
"""How the cells look that are read as numbers."""

_GOING_ON = (
    "running",
    "suspended",
    "pending",
    "requeued",
    "resizing",
    "completing",
    "configuring",
    "signaling",
    "stopped",
)


def frame_of_records(log: Log, records: pl.DataFrame) -> pl.DataFrame:
    """A table of jobs from records of text, by the keys of `NAMES`; steps and what never was a job are left out."""
    for key, pattern in (("job step", r"\."), ("waiting array", r"\[")):
        is_odd = records["id"].str.contains(pattern).fill_null(False)
        log.note(key, int(is_odd.sum()))
        records = records.filter(~is_odd)
    log.note("part of a mixed job", int(records["id"].str.contains(r"\+").sum()))
    records = records.with_columns(state=pl.col("state").str.extract(r"^(\w+)").str.to_lowercase())
    is_going_on = records["state"].is_in(_GOING_ON).fill_null(False)
    log.note("not ended", int(is_going_on.sum()))
    records = records.filter(~is_going_on)
    given, asked = records["given"], records["asked"]
    log.note("other resource", int((tres.has_others(given) | tres.has_others(asked)).sum()))
    jobs = records.select(**_columns())
    log.note("memory as given", int(jobs["is_memory_as_given"].sum()))
    columns = {name: jobs[name] for name in jobs.columns if name in SCHEMA}
    columns["gpus"], columns["gpu_kind"] = tres.gpus(given)
    columns["requested_gpus"], columns["requested_gpu_kind"] = tres.gpus(asked)
    columns["licences"] = tres.licences(asked.fill_null(given), records["licences"])
    return frame_of(columns, jobs.height)


def _columns() -> dict[str, pl.Expr]:
    """Each column of a table of jobs, from records of text."""
    submit_s, eligible_s, start_s, end_s = (_instant_s(name) for name in ("submit", "eligible", "start", "end"))
    elapsed_s = pl.coalesce(_number("elapsed_s"), _length_s("elapsed"), end_s - start_s)
    cores = _positive(pl.coalesce(_number("cores"), tres.amount("given", "cpu")))
    requested_cores = _positive(pl.coalesce(_number("requested_cores"), tres.amount("asked", "cpu")))
    nodes = _positive(pl.coalesce(_number("nodes"), tres.amount("given", "node")))
    requested_nodes = _positive(pl.coalesce(_number("requested_nodes"), tres.amount("asked", "node")))
    wait_s = start_s - submit_s
    asked_kb, given_kb = _memory_kb(pl.coalesce(requested_cores, cores), pl.coalesce(requested_nodes, nodes))
    exact = {
        "submit_s": submit_s,
        "eligible_s": (eligible_s - submit_s).clip(0),
        "wait_s": pl.when(wait_s >= 0).then(wait_s),
        "run_s": pl.when(elapsed_s >= 0).then(elapsed_s.ceil()),
        "requested_s": _positive(pl.coalesce(_number("limit_min") * 60, _length_s("limit"))),
        "cores": cores,
        "requested_cores": requested_cores,
        "nodes": nodes,
        "requested_nodes": requested_nodes,
        "requested_memory_kb": pl.coalesce(asked_kb, given_kb),
        "energy_j": _positive(pl.coalesce(_number("energy_j"), tres.amount("given", "energy"))),
    }
    texts = ("user", "group", "queue", "partition", "cluster", "application", "reservation", "features")
    return {
        "job_id": pl.col("id"),
        "status": pl.col("state"),
        **{name: _told(name) for name in texts},
        **{name: value.cast(SCHEMA[name], strict=False) for name, value in exact.items()},
        "is_memory_as_given": asked_kb.is_null() & given_kb.is_not_null(),
    }


def _told(name: str) -> pl.Expr:
    """Text that tells something; none where it is empty."""
    return pl.when(~pl.col(name).is_in(_UNTOLD)).then(pl.col(name))


def _number(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite() & (number.abs() <= LARGEST)).then(number)


def _positive(value: pl.Expr) -> pl.Expr:
    return pl.when(value > 0).then(value)


def _instant_s(name: str) -> pl.Expr:
    """An instant as seconds: from a date and time, in a zone or in none, or from seconds; none where it never came."""
    day, time, sign, hours, minutes = (pl.col(name).str.extract(_DATE, group) for group in range(1, 6))
    date = (day + "T" + time).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms").dt.epoch("s")
    ahead_s = hours.cast(pl.Float64) * 3600 + minutes.cast(pl.Float64) * 60
    offset_s = pl.when(sign == "-").then(-ahead_s).otherwise(ahead_s).fill_null(0.0)
    return _positive(pl.coalesce(date.cast(pl.Float64) - offset_s, _number(name)))


def _length_s(name: str) -> pl.Expr:
    """A length of time as seconds, from days-hours:minutes:seconds."""
    parts = [pl.col(name).str.extract(_DURATION, group).cast(pl.Float64, strict=False) for group in (1, 2, 3, 4)]
    length_s = pl.sum_horizontal(part.fill_null(0) * weight for part, weight in zip(parts, _WEIGHTS, strict=True))
    return pl.when(pl.col(name).str.contains(_DURATION)).then(length_s)


def _memory_kb(cores: pl.Expr, nodes: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Memory asked for of each processor, and what was given: from text such as 4000Mc, 16Gn, 64G, or mem=64G."""
    asked, given = (pl.col(name).str.extract(_MEMORY_IN_ALL, 1) for name in ("asked", "given"))
    told = pl.when(~pl.col("memory").str.contains(rf"{_NO_MEMORY}|^$")).then("memory")
    return _share_kb(pl.coalesce(told, asked), cores, nodes), _share_kb(given, cores, nodes)


def _share_kb(text: pl.Expr, cores: pl.Expr, nodes: pl.Expr) -> pl.Expr:
    """The memory of each processor, of text for each processor (c), for each node (n) or for the job."""
    value, unit, of = (text.str.extract(_MEMORY, group) for group in (1, 2, 3))
    kb = value.cast(pl.Float64, strict=False) * unit.replace_strict(_KILO, default=None, return_dtype=pl.Float64)
    share = pl.when(of == "c").then(1.0).when(of == "n").then(nodes / cores).otherwise(1.0 / cores)
    return _positive(kb * share)
