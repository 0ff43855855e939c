"""Policy files: what they may say, and all that is wrong with them at once."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from joulewise.errors import InputError
from joulewise.slurm.policy import parse_policy

LEAST = """
[slurm]
partitions = ["cpu"]

[scheduler]
policy = "max-util"
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_policy(text, "policy.toml")
    return [str(problem) for problem in refused.value.problems]


def test_little_is_needed() -> None:
    policy = parse_policy(LEAST, "policy.toml")
    assert policy.managed.partitions == ("cpu",)
    assert policy.scheduler.policy.name == "max-util"
    assert not policy.is_limited
    assert policy.comments.longest == 1_000


def test_everything_can_be_said(tmp_path: Path) -> None:
    text = f"""{LEAST}
[supply]
power_cap = "3 kW"
begins_at = "2026-03-01T00:00+01:00"

[[power]]
nodes = "n[1-4]"
idle_power = "90 W"
core_power = "10 W"

[[power]]
feature = "gpu"
idle_power = "200 W"
gpu_power = "300 W"

[[rule]]
name = "urgent"
queue = "urgent"
max_utility = 20

[comment]
longest = 200
most_utility = 5
most_by_qos = {{urgent = 20}}

[protected]
users = ["root"]
"""
    policy = parse_policy(text, "policy.toml", tmp_path)
    assert policy.is_limited
    assert [row.gpu_power_w for row in policy.powers] == [0.0, 300.0]
    assert policy.powers[0].names == ["n1", "n2", "n3", "n4"]
    assert policy.rules[0].name == "urgent"
    assert dict(policy.comments.most_by_qos) == {"urgent": 20}


def test_the_policies_of_the_documentation_are_valid() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "slurm.md").read_text("utf-8")
    blocks = [dedent(block) for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    assert [parse_policy(block, "policy.toml").is_limited for block in blocks] == [False, True]


def test_all_mistakes_are_told_at_once() -> None:
    text = """
[slurm]
partitions = []
patiense = "3 s"

[scheduler]
policy = "max-utility"
passes = "slurm"

[supply]
budget_total = "3 GJ"

[[power]]
idle_power = "90 W"

[[power]]
nodes = "n[1-"
idle_power = 90

[[rule]]
name = "odd"
usr = "ann"
max_utility = 3

[comment]
words = ["worth"]

[protect]
users = ["root"]
"""
    told = problems_of(text)
    for place in (
        "slurm.partitions", "slurm.patiense", "scheduler.policy", "scheduler.passes", "supply.budget_total",
        "power[0].nodes", "power[1].idle_power", "rule 'odd', usr", "comment", "policy.toml: protect",
    ):  # fmt: skip
        assert any(place in line for line in told), (place, told)
    assert all(line.startswith("policy.toml: ") for line in told), told


def test_a_policy_that_would_hold_every_job_for_ever_is_refused() -> None:
    held = f"""{LEAST}dropping_threshold = 0.1
[[rule]]
name = "nothing"
max_utility = 0

[comment]
longest = 0
"""
    (told,) = problems_of(held)
    assert "rule 'nothing'" in told
    assert "for ever" in told
    assert parse_policy(held.replace("longest = 0", "longest = 9"), "policy.toml").rules[0].name == "nothing"
    assert parse_policy(held.replace("dropping_threshold = 0.1", ""), "policy.toml").rules[0].name == "nothing"


@pytest.mark.parametrize("text", ["slurm = 3", "power = [1]", "rule = 2", "[[slurm]]", "[scheduler", "\x00"])
def test_odd_files_are_refused(text: str) -> None:
    assert problems_of(text)
