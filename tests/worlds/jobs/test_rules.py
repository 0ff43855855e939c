"""Rules: which jobs they hold for, what they give, and every way in which a file of them can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.worlds.jobs.rules import CONDITIONS, GIVEN, default_rules, parse_rules
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace
from tests.worlds.jobs.test_traces import counted, line

TWO = ClusterSystem(Clusters(("thin", "fat"), np.array([100, 100]), np.array([1, 4]), np.array([1, 1])))
HEADER = "; MaxProcs: 1000\n; Queue: 1 short\n; Queue: 2 long\n"
LINES = [line(i + 1, i, run=100, asked=i + 1, request=600 * (i + 1), queue=1 + i % 2, user=i % 3) for i in range(10)]


def load(folder: Path, rules: str, system: ClusterSystem | None = None, lines: list[str] = LINES) -> Trace:
    (folder / "log.swf").write_text(HEADER + "\n".join(lines))
    (folder / "rules.toml").write_text(rules)
    return load_trace(TraceParameters(trace="log.swf", rules="rules.toml"), system, folder)


def worth(trace: Trace, after_s: float = 0.0) -> list[float]:
    work = trace.jobs.work
    jobs = np.arange(work.n_tasks)
    return [float(value) for value in work.utility(jobs, work.arrival_s + after_s)]


@pytest.mark.parametrize(
    ("condition", "jobs"),
    [
        ("", range(10)),
        ('queue = "long"', range(1, 10, 2)),
        ('queue = ["long", "short"]\nuser = ["0"]', (0, 3, 6, 9)),
        ("cores = [2, 4]", (1, 2, 3)),
        ('requested = ["10 min", "30 min"]', (1, 2)),
        ('requested = ["0 s", "10 min"]', (0,)),
        ("cores_share = [0.8, 1.0]", (8, 9)),
        ("work_share = [0.0, 0.3]", (0, 1, 2)),
        ("requested_share = [0.5, 0.6]", (5,)),
        ('group = "nobody"', ()),
    ],
)
def test_conditions(tmp_path: Path, condition: str, jobs: range | tuple[int, ...]) -> None:
    trace = load(tmp_path, f"[[rule]]\n{condition}\nmax_utility = 100\n")
    assert [i for i, value in enumerate(trace.jobs.work.scale) if value == 100] == list(jobs)
    assert counted(trace) == ({} if jobs else {"idle rule": 1})


def test_shares_of_equal_jobs_are_those_of_all_of_them(tmp_path: Path) -> None:
    lines = [line(i, i, asked=1 if i < 6 else 2) for i in range(10)]
    trace = load(tmp_path, "[[rule]]\ncores_share = [0.6, 1.0]\nmax_utility = 100\n", lines=lines)
    assert (trace.jobs.work.scale == 100).tolist() == [False] * 6 + [True] * 4


def test_the_first_rule_that_gives_a_thing_counts(tmp_path: Path) -> None:
    rules = """
[[rule]]
queue = "long"
utility = "step"
duration = "100 s"
hold = "10 s"

[[rule]]
max_utility = 3

[[rule]]
queue = "long"
max_utility = 5
"""
    trace = load(tmp_path, rules)
    assert worth(trace) == [3.0] * 10
    late = worth(trace, 110.0)
    assert late[1::2] == [0] * 5
    assert late[::2] == [3.0] * 5  # the package's rules: worth everything within twice the requested time


def test_levels_have_the_published_shapes(tmp_path: Path) -> None:
    rules = '[[rule]]\npriority = "high"\nurgency = "extreme"\nutility_class = "A"\n'
    trace = load(tmp_path, rules)
    assert trace.jobs.work.hold_s.tolist() == [480.0 * (i + 1) for i in range(10)]
    assert trace.jobs.work.shapes.names == ("extreme-A",)
    assert worth(trace) == [4.0] * 10
    assert worth(trace, 480 + 300)[0] == pytest.approx(4 * 0.6)
    assert trace.jobs.work.tags["priority"].codes.tolist() == [1] * 10


def test_powers_speeds_and_clusters(tmp_path: Path) -> None:
    rules = """
[[rule]]
cluster = "fat"
power_per_node = "100 W"
speed = 0.3

[[rule]]
power_per_node = "10 W"
power_per_core = "1 W"

[[rule]]
queue = "long"
clusters = ["fat"]
"""
    types = load(tmp_path, rules, TWO).system.types
    assert np.diff(types.first).tolist() == [2, 1] * 5
    assert types.power_w[:3].tolist() == [11.0, 100.0, 100.0]
    assert types.time_s[:3].tolist() == [100, 334, 334]
    assert types.planned_s[:3].tolist() == [600, 2000, 4000]
    with pytest.raises(InputError, match="did you mean 'thin'"):
        load(tmp_path, '[[rule]]\nclusters = ["thn"]\n', TWO)


def test_measured_power_where_the_log_has_it(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[[rule]]\nmeasured_power = true\n\n[[rule]]\npower_per_core = "2 W"\n')
    (tmp_path / "log.txt").write_text(
        "JobID|Submit|ElapsedRaw|AllocCPUS|ConsumedEnergyRaw\n1|100|50|4|10000\n2|101|50|4|\n3|102|50|4|0\n"
    )
    p = TraceParameters(trace="log.txt", rules="rules.toml", machine_processors=8)
    assert load_trace(p, None, tmp_path).system.types.power_w.tolist() == [200, 8, 8]


def test_the_rules_that_come_with_the_package(tmp_path: Path) -> None:
    trace = load(tmp_path, "")
    assert trace.jobs.work.scale.tolist() == [1] * 5 + [2] * 3 + [4, 8]
    assert trace.system.types.power_w.tolist() == [15.0 * (i + 1) for i in range(10)]
    assert trace.jobs.work.shapes.names == ("linear 21600 s", "linear 86400 s")
    assert trace.jobs.work.hold_s.tolist() == [1200.0 * (i + 1) for i in range(10)]
    assert trace.jobs.work.tags["priority"].codes.tolist() == [3] * 5 + [2] * 3 + [1, 0]
    assert len(default_rules()) == 8


WRONG = {
    "no toml": ("[[rule]", "not valid TOML"),
    "something else": ("a = 1", "must be rules alone"),
    "not tables": ("rule = 3", "must be rules alone"),
    "unknown key": ('[[rule]]\nquueue = "a"\nmax_utility = 1', "did you mean 'queue'"),
    "no names": ("[[rule]]\nqueue = 3\nmax_utility = 1", "must be names in quotes"),
    "no range": ("[[rule]]\ncores = 3\nmax_utility = 1", "must be the least and the most"),
    "range the wrong way": ("[[rule]]\ncores = [4, 3]\nmax_utility = 1", "least and then the most"),
    "no share": ("[[rule]]\nwork_share = [0.5, 5]\nmax_utility = 1", "share from 0 to 1"),
    "no unit": ("[[rule]]\npower_per_core = 3", "text with a unit"),
    "wrong unit": ('[[rule]]\npower_per_core = "3 s"', "W"),
    "negative": ('[[rule]]\nhold = "-3 s"', "0 or more"),
    "no level": ('[[rule]]\npriority = "highest"', "must be one of critical"),
    "true": ("[[rule]]\nmax_utility = true", "must be a number"),
    "no flag": ("[[rule]]\nmeasured_power = 1", "must be true or false"),
    "nothing given": ('[[rule]]\nqueue = "a"', "gives nothing"),
    "two worths": ('[[rule]]\npriority = "low"\nmax_utility = 1', "one of the two"),
    "no duration": ('[[rule]]\nutility = "linear"', "needs duration"),
    "points that rise": ('[[rule]]\nutility = "piecewise"\npoints = "0:0 5:1"', "values falling"),
    "urgency alone": ('[[rule]]\nurgency = "high"', "needs both"),
    "duration alone": ('[[rule]]\nduration = "2 h"', "needs utility"),
    "worth by cluster": ('[[rule]]\ncluster = "thin"\nmax_utility = 1', "found a cluster"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_wrong_rules_are_told(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_rules(text, "rules.toml")
    assert words in str(caught.value)
    assert "rules.toml" in str(caught.value)


def test_all_problems_of_a_file_at_once_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        parse_rules('[[rule]]\nspeed = 0\nhold = 3\n\n[[rule]]\nname = "q"\nqueue = ""\n', "rules.toml")
    assert [problem.where for problem in caught.value.problems] == [
        "rules.toml: line 1, rule 1, speed", "rules.toml: line 1, rule 1, hold", "rules.toml: line 5, rule 'q'",
    ]  # fmt: skip
    (tmp_path / "log.swf").write_text(HEADER + LINES[0])
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    for told in ("absent.toml: there is no such file; looked in", "bad.toml: byte 0 is not UTF-8"):
        name = told.partition(":")[0]
        with pytest.raises(InputError, match=told):
            load_trace(TraceParameters(trace="log.swf", rules=name), None, tmp_path)


def test_every_key_is_explained() -> None:
    assert all(key.meaning for key in (*CONDITIONS.values(), *GIVEN.values()))


def test_every_key_stands_in_the_how_to() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "real-traces.md").read_text(encoding="utf-8")
    keys = (
        *CONDITIONS,
        *GIVEN,
        "no_run_time",
        "processors",
        "no_request",
        "dependencies",
        "planned",
        "pstates",
        "unit",
    )
    assert [key for key in keys if f"`{key}" not in page] == []
