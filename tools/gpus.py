"""Write the table of measured GPUs: `python -m tools.gpus`, where the traces of Zeus are at hand.

The README in the folder of the table says what is measured, who measured it and under which terms.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from joulewise.files import write_atomic
from tools.data import PACKAGE_DATA, VARIABLE, data_folder

PATH = PACKAGE_DATA / "gpus.csv"

TARGETS = {
    ("librispeech", "deepspeech2"): 40.0,
    ("squad", "bert_base_uncased"): 84.0,
    ("sentiment140", "bert_base_uncased"): 0.84,
    ("imagenet", "resnet50"): 0.65,
    ("cifar100", "shufflenetv2"): 0.60,
    ("movielens-1m", "ncf"): 0.41,
}
"""What the trained network must reach: word error rate, F1, accuracy (three times), NDCG."""
GPUS = {"p100": "P100", "v100": "V100", "rtx6000": "RTX 6000", "a40": "A40"}
"""The names that the trace has for machine types, in the order of the table."""

_JOB = ["dataset", "network"]
_RECIPE = [*_JOB, "batch_size", "optimizer"]


def traces(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Time and power by epoch, and epochs to the target, as measured."""
    power, train = (folder / "gpu_power" / f"zeus_{name}_trace.csv.gz" for name in ("power", "train"))
    return pl.read_csv(power), pl.read_csv(train, schema_overrides={"target_epoch": pl.Float64})


def epochs(train: pl.DataFrame) -> pl.DataFrame:
    """The mean number of epochs to the target by recipe, of those recipes of which every run reached it."""
    rows = [(*job, target) for job, target in TARGETS.items()]
    targets = pl.DataFrame(rows, schema=[*_JOB, "target_metric"], orient="row")
    runs = train.join(targets, on=[*_JOB, "target_metric"])
    means = runs.group_by(_RECIPE).agg(pl.col("target_epoch").mean().alias("epochs"))
    return means.filter(pl.col("epochs").is_finite())


def jobs(power: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """Time and power of whole jobs by GPU and power limit, each with the batch size that is fastest at any limit."""
    etc_s = pl.col("epochs") * pl.col("time_per_epoch_s")
    found = power.join(epochs(train), on=_RECIPE).with_columns(etc_s.alias("etc_s"))
    by_time = found.sort("etc_s", "average_power_w", "batch_size", "power_limit_w")
    fastest = by_time.group_by("gpu", *_JOB, maintain_order=True).agg(pl.col("batch_size", "optimizer").first())
    return by_time.join(fastest, on=["gpu", *_RECIPE], maintain_order="left")


def table(folder: Path) -> str:
    """The table as CSV, its P-states sorted by time, without those that draw no less power than a faster one."""
    found = jobs(*traces(folder))
    lowest_before = pl.col("average_power_w").cum_min().shift(1).over("gpu", *_JOB)
    useful = found.filter(lowest_before.is_null() | (pl.col("average_power_w") < lowest_before))
    order = {name: place for place, name in enumerate(GPUS)}
    rows = useful.select(
        (pl.col("dataset") + "/" + pl.col("network")).alias("task_type"),
        pl.col("gpu").replace_strict(GPUS).alias("machine_type"),
        pl.int_range(pl.len()).over("gpu", *_JOB).alias("pstate"),
        "power_limit_w",
        "batch_size",
        pl.col("etc_s").round(2),
        pl.col("average_power_w").round(2).alias("power_w"),
        pl.col("gpu").replace_strict(order).alias("place"),
    )
    return rows.sort("task_type", "place", "pstate").drop("place").write_csv()


def main() -> None:
    """Write the table, or say what is missing."""
    folder = data_folder()
    if folder is None:
        raise SystemExit(f"The traces are not here: let {VARIABLE} name the folder that holds gpu_power/.")
    write_atomic(PATH, table(folder))


if __name__ == "__main__":
    main()
