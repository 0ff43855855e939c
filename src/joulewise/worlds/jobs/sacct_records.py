"""From records of Slurm's accounting to jobs, whatever form of sacct they are from: its names, cells and states."""

from __future__ import annotations

import polars as pl

from joulewise.worlds.jobs import tres
from joulewise.worlds.jobs.logs import LARGEST, SCHEMA, Log, frame_of
from joulewise.worlds.jobs.submit_lines import own_options

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
    "dependency": ("Dependency",),
    "begin": ("BeginTime", "Begin"),
    "array_limit": ("ArrayTaskThrottle", "ArrayTaskLimit"),
    "submit_line": ("SubmitLine",),
}
"""What is read, and by which names versions of sacct call it; the first that is there counts."""

_UNTOLD = ("", "Unknown", "None", "None assigned", "(null)")
_NONE = r"|Unknown|None|None assigned|\(null\)|(?i:unlimited|partition_limit|invalid)"
_DAY_TIME = r"([0-9]{4}-[0-9][0-9]-[0-9][0-9])[T ]([0-9][0-9]:[0-9][0-9]:[0-9][0-9])(?:\.[0-9]+)?"
_DATE = rf"^{_DAY_TIME}\s?(?:Z|([+-])([0-9][0-9]):?([0-9][0-9]))?$"
_DURATION = r"^(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]+)(?:\.[0-9]+)?$"
_WEIGHTS = (86_400, 3_600, 60, 1)
_MEMORY = r"^([0-9.]+)([KMGTP]?)([cn]?)$"
_MEMORY_IN_ALL = r"(?:^|,)mem=([0-9.]+[KMGTP]?)"
_NO_MEMORY = r"^0+\D*$"
_KILO = {"": 2**10, "K": 1, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}

_DEPENDENCY = r"\s--dependency=((?:after|singleton|expand)[\w:+?,*]*)"
_ARRAY_LIMIT = r"\s--array=[0-9,:\-]+%([0-9]+)"
_BEGIN = r"\s--begin="
_BEGIN_AT = rf"{_BEGIN}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}})?)"
_BEGIN_AFTER = rf"{_BEGIN}now\+([0-9]+)([a-z]+)?"
_BEGIN_NOW = rf"{_BEGIN}now(?:\s|$)"
_MINUTES = len("2026-03-01T09:00")
_UNITS_S = {
    f"{unit}{ending}": float(seconds)
    for unit, seconds in {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}.items()
    for ending in ("", "s")
}
"""What the command of submission says of what a job waits for."""

PLAIN_DATE = rf"^{_DAY_TIME}$"
"""An instant of which only the log's own clock tells when it was."""

_INSTANT, _LENGTH, _NUMBER = (
    rf"^(?:{form}|{_NONE})$" for form in (rf"{_DATE[1:-1]}|[0-9]+", rf"{_DURATION[1:-1]}", r"-?[0-9]+(?:\.[0-9]+)?")
)
_INSTANTS = ("submit", "eligible", "start", "end", "begin")
FORMS = {
    **dict.fromkeys(_INSTANTS, _INSTANT),
    **dict.fromkeys(("elapsed", "limit"), _LENGTH),
    **dict.fromkeys(
        ("elapsed_s", "limit_min", "cores", "requested_cores", "nodes", "requested_nodes", "energy_j", "array_limit"),
        _NUMBER,
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
    records = records.with_columns(submit_line=own_options(records["submit_line"])).with_columns(**_of_submit_line())
    log.note("odd begin time", int(records["is_odd_begin"].sum()))
    is_plain = [records[name].str.contains(PLAIN_DATE) for name in ("begin", "submit")]
    log.note("begin in another zone", int((is_plain[0] != is_plain[1]).fill_null(False).sum()))
    given, asked = records["given"], records["asked"]
    log.note("other resource", int((tres.has_others(given) | tres.has_others(asked)).sum()))
    known = _with_memory(records.with_columns(_instant_s(records[name]) for name in _INSTANTS).with_columns(_sizes()))
    log.note("memory as given", int(known["is_memory_as_given"].sum()))
    jobs = known.select(**_columns())
    columns = {name: jobs[name] for name in jobs.columns}
    columns["gpus"], columns["gpu_kind"] = tres.gpus(given)
    columns["requested_gpus"], columns["requested_gpu_kind"] = tres.gpus(asked)
    columns["licences"] = tres.licences(asked.fill_null(given), records["licences"])
    return frame_of(columns, jobs.height)


def _sizes() -> list[pl.Expr]:
    """Processors and nodes, by names of their own or as trackable resources."""
    pairs = (
        ("cores", "given", "cpu"), ("requested_cores", "asked", "cpu"), ("nodes", "given", "node"),
        ("requested_nodes", "asked", "node"), ("energy_j", "given", "energy"),
    )  # fmt: skip
    return [_positive(pl.coalesce(_number(name), tres.amount(where, kind))).alias(name) for name, where, kind in pairs]


def _columns() -> dict[str, pl.Expr]:
    """Each column of a table of jobs, from records of text with instants, sizes and memory."""
    submit_s, eligible_s, start_s, end_s, begin_s = (pl.col(name) for name in _INSTANTS)
    elapsed_s = pl.coalesce(_number("elapsed_s"), _length_s("elapsed"), end_s - start_s)
    wait_s = start_s - submit_s
    exact = {
        "submit_s": submit_s,
        "eligible_s": (eligible_s - submit_s).clip(0),
        "wait_s": pl.when(wait_s >= 0).then(wait_s),
        "run_s": pl.when(elapsed_s >= 0).then(elapsed_s.ceil()),
        "requested_s": _positive(pl.coalesce(_number("limit_min") * 60, _length_s("limit"))),
        **{name: pl.col(name) for name in ("cores", "requested_cores", "nodes", "requested_nodes", "energy_j")},
        "requested_memory_kb": pl.col("memory_kb"),
        "begin_s": pl.coalesce((begin_s - submit_s).clip(0), "begin_after_s"),
        "array_limit": pl.when(_number("array_limit") != 0).then(_number("array_limit")),
    }
    texts = ("user", "group", "queue", "partition", "cluster", "application", "reservation", "features", "dependency")
    return {
        "job_id": pl.col("id"),
        "status": pl.col("state"),
        **{name: _told(name) for name in texts},
        **{name: value.cast(SCHEMA[name], strict=False) for name, value in exact.items()},
    }


def _of_submit_line() -> dict[str, pl.Expr]:
    """What the command of submission asks for, where no column tells it; a begin time may count from then."""
    line = pl.col("submit_line")
    dated, after = line.str.extract(_BEGIN_AT, 1), line.str.extract(_BEGIN_AFTER, 1).cast(pl.Float64)
    unit_s = line.str.extract(_BEGIN_AFTER, 2).replace_strict(_UNITS_S, default=None, return_dtype=pl.Float64)
    is_asked = line.str.contains(_BEGIN) & ~line.str.contains(_BEGIN_NOW)
    return {
        "dependency": pl.coalesce(_told("dependency"), line.str.extract(_DEPENDENCY, 1)),
        "array_limit": pl.coalesce("array_limit", line.str.extract(_ARRAY_LIMIT, 1)),
        "begin": pl.coalesce(_told("begin"), pl.when(dated.str.len_chars() == _MINUTES).then(dated + ":00"), dated),
        "begin_after_s": after * unit_s.fill_null(1.0),
        "is_odd_begin": (is_asked & _told("begin").is_null() & dated.is_null() & after.is_null()).fill_null(False),
    }


def _told(name: str) -> pl.Expr:
    """Text that tells something; none where it is empty."""
    return pl.when(~pl.col(name).is_in(_UNTOLD)).then(pl.col(name))


def _number(name: str) -> pl.Expr:
    return _number_in(pl.col(name))


def _number_in(cells: pl.Expr) -> pl.Expr:
    number = cells.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite() & (number.abs() <= LARGEST)).then(number)


def _positive(value: pl.Expr) -> pl.Expr:
    return pl.when(value > 0).then(value)


def _instant_s(cells: pl.Series) -> pl.Series:
    """Instants as seconds: from a date and time, in a zone or in none, or from seconds; none where one never came."""
    dates = cells.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms").dt.epoch("s").cast(pl.Float64)
    if dates.null_count() > cells.null_count():
        dates = pl.select(pl.coalesce(dates, _zoned_s(cells), _number_in(pl.lit(cells)))).to_series()
    return dates.set(dates <= 0, None).alias(cells.name)


def _zoned_s(cells: pl.Series) -> pl.Series:
    day, time, sign, hours, minutes = (cells.str.extract(_DATE, group) for group in range(1, 6))
    date = (day + "T" + time).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms").dt.epoch("s")
    ahead_s = (hours.cast(pl.Float64) * 3600 + minutes.cast(pl.Float64) * 60).fill_null(0.0)
    return date.cast(pl.Float64) - ahead_s * (1.0 - 2.0 * (sign == "-").fill_null(False).cast(pl.Float64))


def _length_s(name: str) -> pl.Expr:
    """A length of time as seconds, from days-hours:minutes:seconds."""
    parts = [pl.col(name).str.extract(_DURATION, group).cast(pl.Float64, strict=False) for group in (1, 2, 3, 4)]
    length_s = pl.sum_horizontal(part.fill_null(0) * weight for part, weight in zip(parts, _WEIGHTS, strict=True))
    return pl.when(pl.col(name).str.contains(_DURATION)).then(length_s)


def _with_memory(records: pl.DataFrame) -> pl.DataFrame:
    """The records with the memory asked for of each processor, or else given, and whether it is what was given.

    It stands in text such as 4000Mc (of each processor), 16Gn (of each node), 64G, or mem=64G among the resources.
    """
    asked, given = (pl.col(name).str.extract(_MEMORY_IN_ALL, 1) for name in ("asked", "given"))
    is_told = pl.col("memory").str.contains(_MEMORY) & ~pl.col("memory").str.contains(_NO_MEMORY)
    parts = (("value", 1), ("unit", 2), ("of", 3))
    cores, nodes = (pl.coalesce(f"requested_{name}", name) for name in ("cores", "nodes"))
    share = pl.when(pl.col("of") == "c").then(1.0).when(pl.col("of") == "n").then(nodes / cores).otherwise(1.0 / cores)
    unit = pl.col("unit").replace_strict(_KILO, default=None, return_dtype=pl.Float64)
    return (
        records.with_columns(told=pl.coalesce(pl.when(is_told).then("memory"), asked), given_memory=given)
        .with_columns(memory=pl.coalesce("told", "given_memory"))
        .with_columns(pl.col("memory").str.extract(_MEMORY, group).alias(name) for name, group in parts)
        .with_columns(memory_kb=_positive(pl.col("value").cast(pl.Float64, strict=False) * unit * share))
        .with_columns(is_memory_as_given=pl.col("told").is_null() & pl.col("memory_kb").is_not_null())
    )
