"""Lists of nodes in brackets, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.worlds.jobs.sites.hostlists import compacted, expanded, split_list
from joulewise.worlds.jobs.sites.written import RefusedError

LISTS = {
    "login": ["login"],
    "n[1-3]": ["n1", "n2", "n3"],
    "node[08-10,12]": ["node08", "node09", "node10", "node12"],
    "a1,b[9-10]-ib,c": ["a1", "b9-ib", "b10-ib", "c"],
    "rack[1-2]n[1-2]": ["rack1n1", "rack1n2", "rack2n1", "rack2n2"],
    "": [],
}

numbers = st.integers(0, 3000).map(str) | st.integers(0, 99).map(lambda n: f"{n:03d}")
names = st.builds(
    "".join, st.tuples(st.sampled_from(["n", "gpu-", "rack1n", ""]), numbers, st.sampled_from(["", "-ib"]))
) | st.sampled_from(["login", "x"])


@pytest.mark.parametrize("text", LISTS)
def test_what_lists_stand_for(text: str) -> None:
    assert expanded(text) == LISTS[text]


@given(st.sets(names, max_size=60))
def test_names_that_are_put_together_are_the_same_names(found: set[str]) -> None:
    assert sorted(expanded(compacted(found))) == sorted(found)


@given(st.integers(0, 2000), st.integers(0, 300), st.integers(1, 5))
def test_a_range_is_each_number_in_its_width(first: int, more: int, width: int) -> None:
    text = f"n[{first:0{width}d}-{first + more}]"
    assert expanded(text) == [f"n{number:0{max(width, 1)}d}" for number in range(first, first + more + 1)]
    assert compacted(expanded(text)).count(",") <= 1


@pytest.mark.parametrize(
    "text", ["n[1-", "n[2-1]", "n[a-b]", "n]", "n[1]]", "n[]", "n[1-99999999]", "n[1-999][1-9999]"]
)
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(RefusedError, match="must be"):
        expanded(text)


def test_separators_inside_brackets_are_none() -> None:
    assert split_list("gpu:a100:4(S:0,1),n[1,2],,x") == ["gpu:a100:4(S:0,1)", "n[1,2]", "x"]
