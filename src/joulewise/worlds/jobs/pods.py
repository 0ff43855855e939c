"""Alibaba's lists of the pods of a GPU cluster, as published in 2023: CSV with thousandths of processors and GPUs."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.worlds.jobs.logs import LARGEST, Log, LogAbout, frame_of, text_of

_NUMBERS = (
    "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "scheduled_time", "deletion_time",
)  # fmt: skip
_TEXTS = ("name", "gpu_spec", "qos", "pod_phase")
_NEEDED = ("name", "cpu_milli", "num_gpu", "creation_time", "deletion_time", "scheduled_time")
_NODES = ("sn", "cpu_milli", "gpu", "model")
_WHOLE = 1000
_KIB = 1024


def is_pods(start: str) -> bool:
    """Whether a text starts as a list of pods, or of nodes, does."""
    names = _names(start.partition("\n")[0])
    return "cpu_milli" in names and ("name" in names or "sn" in names)


def read_pods(path: Path, texts: Iterable[bytes]) -> Log:
    """The pods as jobs; InputError where columns are missing, or the list is one of nodes."""
    log = Log(LogAbout("Alibaba's list of pods"))
    log.pieces = _frames(path, log, texts)
    return log


def _frames(path: Path, log: Log, texts: Iterable[bytes]) -> Iterator[pl.DataFrame]:
    lines = b"".join(texts).splitlines()
    log.n_lines = len(lines)
    names = _names(text_of(lines[0])[0])
    raise_if_any(_problems_of_header(path.name, names))
    log.about = replace(log.about, unread=tuple(name for name in names if name and name not in (*_NUMBERS, *_TEXTS)))
    n_commas = lines[0].count(b",")
    filled = [(number, line) for number, line in enumerate(lines[1:], 2) if line.strip()]
    good = [(number, line) for number, line in filled if line.count(b",") == n_commas]
    wrong = [number for number, line in filled if line.count(b",") != n_commas]
    log.note("wrong number of cells", len(wrong), next(iter(wrong), None))
    if good:
        yield _jobs(log, _cells(log, names, good))


def _names(header: str) -> list[str]:
    return [name.strip() for name in header.split(",")]


def _problems_of_header(where: str, names: list[str]) -> Iterator[Problem]:
    if all(name in names for name in _NODES):
        found = "found a list of nodes: the cluster, and none of its jobs"
        yield Problem(where, found, "must be a list of pods", f"`joulewise import --config {where}` makes a site of it")
        return
    for name in _NEEDED:
        if name not in names:
            yield Problem(f"{where}: header", f"has no column {name!r}", f"it has {', '.join(names)}")


def _cells(log: Log, names: list[str], lines: list[tuple[int, bytes]]) -> pl.DataFrame:
    """The cells by name; those that are no numbers where numbers must be are empty, and counted."""
    decoded = [text_of(line) for _, line in lines]
    log.note("text in another code", sum(not is_utf8 for _, is_utf8 in decoded))
    data = "\n".join(text for text, _ in decoded).encode()
    table = pl.read_csv(io.BytesIO(data), has_header=False, infer_schema=False, quote_char=None)
    said = {name: table.to_series(place).str.strip_chars() for place, name in enumerate(names)}
    empty = pl.Series([None], dtype=pl.String).new_from_index(0, table.height)
    columns = {name: said.get(name, empty) for name in (*_TEXTS, *_NUMBERS)}
    for name in _NUMBERS:
        text = columns[name].replace("", None)
        number = text.cast(pl.Float64, strict=False)
        columns[name] = number.set(~(number.is_between(0, LARGEST)).fill_null(True), None)
        is_wrong = text.is_not_null() & columns[name].is_null()
        log.note("unreadable cell", int(is_wrong.sum()), lines[int(is_wrong.arg_max() or 0)][0])
    return pl.DataFrame(columns)


def _jobs(log: Log, pods: pl.DataFrame) -> pl.DataFrame:
    has_run = pl.col("scheduled_time").is_not_null()
    share = pl.col("num_gpu") * pl.col("gpu_milli").fill_null(_WHOLE) / _WHOLE
    cores = pl.when(pl.col("cpu_milli") > 0).then((pl.col("cpu_milli") / _WHOLE).ceil())
    memory_kb = pl.when(pl.col("memory_mib") > 0).then(pl.col("memory_mib") * _KIB)
    gpus = pl.when(share > 0).then(share)
    jobs = pods.select(
        job_id="name",
        submit_s=pl.col("creation_time").floor(),
        wait_s=(pl.col("scheduled_time") - pl.col("creation_time")).clip(0).floor(),
        run_s=(pl.col("deletion_time") - pl.col("scheduled_time")).clip(0).ceil(),
        cores=pl.when(has_run).then(cores),
        requested_cores=cores,
        nodes=pl.when(has_run).then(pl.lit(1, pl.Int64)),
        requested_nodes=pl.lit(1, pl.Int64),
        requested_memory_kb=memory_kb / cores,
        gpus=pl.when(has_run).then(gpus),
        requested_gpus=gpus,
        requested_gpu_kind=pl.col("gpu_spec").replace("", None),
        status=pl.col("pod_phase").str.to_lowercase(),
        queue=pl.col("qos").replace("", None),
    )
    _note(log, pods)
    return frame_of({name: jobs[name] for name in jobs.columns}, jobs.height)


def _note(log: Log, pods: pl.DataFrame) -> None:
    """What the jobs of a list of pods are not quite as the pods were."""
    milli = pods["cpu_milli"].fill_null(0)
    added = (milli / _WHOLE).ceil() * _WHOLE - milli
    ends = (pl.col("pod_phase").str.to_lowercase() == "running") & (pl.col("deletion_time") == pl.max("deletion_time"))
    log.note("fraction of a processor", int((added > 0).sum()))
    log.note("added processors", round(float(added.sum()) / _WHOLE))
    log.note("ends with the log", pods.filter(ends).height)
