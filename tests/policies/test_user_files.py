"""Files of users: they are loaded in time or named, and their functions are policies with or without parentheses."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.policies import user_files
from joulewise.policies.jobs.heuristic import find_job_policy
from joulewise.policies.tasks.heuristic import find_policy

BARE = """
import joulewise

@joulewise.policy
def of_tasks(event):
    "Of tasks."

@joulewise.jobs.policy
class OfJobs:
    "Of jobs."
    def decide(self, event):
        pass
"""


@pytest.mark.parametrize("held", ["pass", "try:\n        pass\n    except Exception:\n        pass"])
def test_a_file_that_never_ends_is_told(held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "TIME_LIMIT_S", 0.1)
    (tmp_path / "slow.py").write_text(f"while True:\n    {held}\n")
    began = time.monotonic()
    found = r"could not load .*slow\.py: it was not over after 100 ms; compute in the policy, not while its file"
    with pytest.raises(InputError, match=found):
        find_policy("slow.py:f", "here", tmp_path)
    assert time.monotonic() - began < 60


def test_decorators_of_policies_work_without_parentheses(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text(BARE)
    assert find_policy("bare.py", "here", tmp_path).summary == "Of tasks."
    assert find_job_policy("bare.py", "here", tmp_path).summary == "Of jobs."


def test_both_doors_are_named_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("def f(event): pass")
    with pytest.raises(InputError, match=r"write @joulewise\.heuristic\(\) or @joulewise\.policy\(\) above"):
        find_policy("plain.py:f", "here", tmp_path)
    with pytest.raises(
        InputError, match=r"write @joulewise\.jobs\.heuristic\(\) or @joulewise\.jobs\.policy\(\) above"
    ):
        find_job_policy("plain.py:f", "here", tmp_path)
