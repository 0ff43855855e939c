"""What comments of jobs say: in the words of rules, within limits, and each refused for its job alone."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.slurm.worth import WORDS, CommentLimits, Said, said_of
from tests.slurm.test_queue import one
from tests.strategies.altered import altered

LIMITS = CommentLimits(most_utility=8, most_by_qos={"gold": 100}, most_by_account={"physics": 20})
GOOD = '{"max_utility": 3, "utility": "step", "duration": "2 h", "hold": "10 min"}'


def said(comment: str, **cells: str) -> Said:
    return said_of(one(**{**cells, "comment": comment}), LIMITS)


def test_a_comment_gives_what_a_rule_gives() -> None:
    rule = said(GOOD).rule
    assert rule is not None
    assert rule.given == {"max_utility": 3.0, "utility": "step", "duration": 7200.0, "hold": 600.0}
    assert said('{"priority": "high", "urgency": "low", "utility_class": "B"}').rule is not None
    assert said('  {"max_utility": 0}\n').rule is not None


@pytest.mark.parametrize("comment", ["", "(null)", "for the paper", "x {}", "[1]", "3", '"text"'])
def test_what_is_no_json_of_ours_says_nothing(comment: str) -> None:
    assert said(comment) == Said()


def test_most_utility_is_by_qos_account_or_for_all() -> None:
    def is_allowed(utility: float, **cells: str) -> bool:
        return not said(json.dumps({"max_utility": utility}), **cells).problems

    assert is_allowed(8)
    assert not is_allowed(8.01)
    assert is_allowed(20, account="physics")
    assert not is_allowed(21, account="physics")
    assert is_allowed(100, account="physics", qos="gold")
    assert "claims a utility of 9; must be 8 at most" in said('{"max_utility": 9}').reason
    low = CommentLimits(most_utility=3)
    assert "claims a utility of 4" in said_of(one(comment='{"priority": "high"}'), low).reason


BAD = {
    "{": "is no JSON",
    "{}": "says nothing",
    '{"max_utility": 1} {"max_utility": 2}': "is no JSON",
    "{" * 500: "is no JSON",
    '{"a":' * 150: "is no JSON",
    '{"max_utility": [' + "[" * 400 + "]" * 400 + "]}": "no plain value",
    '{"max_utility": NaN}': "found NaN",
    '{"max_utility": -Infinity}': "found -Infinity",
    '{"max_utility": 1e999}': "too large",
    '{"max_utility": ' + "9" * 900 + "}": "more than 64 bits",
    '{"max_utility": 1, "max_utility": 2}': "stands there twice",
    '{"max_utility": {"number": 1}}': "no plain value",
    '{"max_utility": null}': "no plain value",
    '{"max_utility": true}': "must be a number",
    '{"max_utility": -1}': "must be a number of 0 or more",
    '{"max_utility": "3"}': "must be a number",
    '{"utility": 3}': "must be one of constant, linear",
    '{"utility": "step"}': "needs duration",
    '{"utility": "step", "duration": "2 apples"}': "for example",
    '{"utility": "piecewise", "points": "0:1000 10:0"}': "value above 1",
    '{"utilty": 1}': "did you mean",
    '{"power_per_node": "1 W"}': "must be one of",
    '{"name": "x"}': "must be one of",
    '{"duration": "\\u001b[31m"}': "control characters",
    '{"duration": "\\u202e1 h"}': "control characters",
    '{"duration": "\\ud800"}': "control characters",
    '{"max_utility": 1, "priority": "high"}': "one of the two",
    '{"priority": "$(reboot)"}': "must be one of critical",
    '{"priority": "high\\"]]\\n[[rule]]"}': "control characters",
    '{"priority": "high\\" # "}': "must be one of critical",
    '{"max_utility": 1, "hold": "' + "x" * 2000 + '"}': "characters long",
}


@pytest.mark.parametrize("comment", BAD, ids=range(len(BAD)))
def test_a_bad_comment_is_refused_with_a_reason_in_a_line(comment: str) -> None:
    refused = said(comment)
    assert refused.rule is None
    assert BAD[comment] in refused.reason
    assert len(refused.reason) < 1_000
    assert refused.reason.isprintable()


def test_an_administrator_chooses_the_words() -> None:
    limits = CommentLimits(words=("max_utility",))
    assert said_of(one(comment='{"max_utility": 1}'), limits).rule is not None
    assert "must be one of max_utility" in said_of(one(comment=GOOD), limits).reason


@given(
    st.dictionaries(st.sampled_from(WORDS), st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text()))
)
def test_any_values_are_taken_or_refused(values: dict[str, Any]) -> None:
    answer = said(json.dumps(values))
    assert (answer.rule is None) == bool(answer.reason)


@given(st.integers(0, 2**32))
def test_altered_comments_are_taken_or_refused(seed: int) -> None:
    answer = said(altered(GOOD, Random(seed)))
    assert answer.rule is None or answer.rule.given.get("max_utility", 0) <= LIMITS.most_utility
