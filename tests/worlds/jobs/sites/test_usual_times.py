"""What jobs of a log that ask for no time get from their partition, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, SiteTables
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace

SITE = SiteTables(
    name="s",
    nodes=(NodeGroup(name="cpu", count=4, cores=8),),
    partitions=(
        Partition(name="batch", nodes=("cpu",), default=True, default_time_s=3600.0, max_time_s=7200.0),
        Partition(name="long", nodes=("cpu",), max_time_s=86_400.0),
        Partition(name="free", nodes=("cpu",)),
    ),
)
LOG = """\
JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|Partition|State
1|1000|60||1|batch|COMPLETED
2|1010|60|5|1|batch|COMPLETED
3|1020|3601||1|batch|COMPLETED
4|1030|60||1|long|COMPLETED
5|1040|60||1|free|COMPLETED
6|1050|60||1|gone|COMPLETED
7|1060|60||1||COMPLETED
"""


def load(folder: Path, **keys: str) -> Trace:
    (folder / "log.txt").write_text(LOG)
    return load_trace(TraceParameters(trace="log.txt", **keys), SITE, folder)  # type: ignore[arg-type]


def test_jobs_without_a_requested_time_get_that_of_their_partition(tmp_path: Path) -> None:
    trace = load(tmp_path)
    assert trace.requested_s.tolist() == [3600, 300, 3601, 86_400, 60, 3600, 3600]
    told = {finding.key: (finding.n, finding.part) for finding in trace.findings}
    assert told["usual time"] == (4, "guessed")
    assert told["no requested time"] == (2, "guessed"), "of one the partition has no time, one ran for longer"


@pytest.mark.parametrize("keys", [{"no_request": "drop"}])
def test_they_are_left_out_where_the_study_says_so(tmp_path: Path, keys: dict[str, str]) -> None:
    assert load(tmp_path, **keys).job_id.to_list() == ["2"]
