"""Messages stand beside the lines that they are about, and completion offers what may stand at a cursor."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joulewise.errors import InputError, Problem
from joulewise.serve.run.completion import Offers, offers_at
from joulewise.serve.run.editor import Checked, checked
from joulewise.serve.run.lines import Lines
from joulewise.serve.run.texts import _renamed
from joulewise.study import read_study
from joulewise.study.running.estimate import estimate
from tests.strategies.altered import altered
from tests.strategies.small import HERE, HEURISTIC, QUICKLY, TEXT

WRONG = """\
name = "a b"
trialz = 3
trials = 0

[system]
generator = "oversubscribed"
special_counts = [1, -1]
[workload]
generator = "day"
tasks_per_day = "x"
[manager]
policy = [
    "max-util",
    "nope",
]
drop = 3
[[variant]]
name = "q"
workload.tasks_per_day = -2
manager.policy = "zz"
[[variant]]
name = "q"
[variant.manager]
policy = "yy"
"""
LINES = {
    "name": 1, "trialz": 2, "trials": 3, "system.special_counts": 7, "workload.tasks_per_day": 10, "manager.drop": 16,
    "variant 'q': workload.tasks_per_day": 19, "variant[1].name": 22,
}  # fmt: skip
"""Where the mistakes are, by where messages say that they are; the policies are apart."""


POLICY_LINE = 1 + TEXT.partition("policy")[0].count("\n")


def look(text: str, folder: Path, *, allows_code: bool = False) -> Checked:
    return checked(text, folder / "study.toml", folder, allows_code=allows_code)


def test_every_message_stands_beside_its_line(tmp_path: Path) -> None:
    found = look(WRONG, tmp_path)
    told = {message.where.removeprefix("study.toml: "): message.line for message in found.messages}
    assert {where: line for where, line in told.items() if where != "manager.policy"} == LINES
    assert [m.line for m in found.messages if m.where == "study.toml: manager.policy"] == [20, 24]
    assert [message.line for message in found.messages] == sorted(message.line or 0 for message in found.messages)
    assert not found.is_right


def test_messages_are_those_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(WRONG)
    with pytest.raises(InputError) as raised:
        read_study(tmp_path / "study.toml")
    told = {
        (message.where, message.found, message.allowed, message.advice) for message in look(WRONG, tmp_path).messages
    }
    assert told == {(each.where, each.found, each.allowed, each.advice) for each in raised.value.problems}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = = 2\n", 2),
        ("a = [1,\n 2\n", 2),
        ('name = """\nx\n', 2),
        (TEXT.replace('"random"', '"rundom"'), POLICY_LINE),
    ],
)
def test_mistakes_of_form_have_a_line(text: str, line: int, tmp_path: Path) -> None:
    assert [message.line for message in look(text, tmp_path).messages] == [line]


def test_what_a_run_takes_is_what_the_command_says(tmp_path: Path) -> None:
    found = look(QUICKLY + TEXT, tmp_path)
    assert (found.verdict, found.name, found.results) == ("nothing wrong", "small", "results/small")
    (tmp_path / "study.toml").write_text(QUICKLY + TEXT)
    study = read_study(tmp_path / "study.toml")
    assert dict(found.costs)["runs"] == dict(estimate(study, tmp_path / "results/small").lines(tmp_path))["runs"]
    assert dict(found.costs)["runs"] == "8 (4 points x 2 trials)"


def test_python_is_not_even_loaded_unless_it_is_allowed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (tmp_path / "mine.py").write_text(f"open({str(mark)!r}, 'w').close()\n{HEURISTIC}")
    text = TEXT.replace('"random"', '"mine.py:mine"')
    (message,) = look(text, tmp_path).messages
    assert (message.line, message.allowed) == (POLICY_LINE, "Python files are not run here")
    assert not mark.exists()
    assert look(text, tmp_path, allows_code=True).is_right
    assert mark.exists()


@pytest.mark.parametrize("place", ["/etc/passwd", "../outside.csv", "link.csv"])
def test_files_outside_of_the_folder_are_refused(place: str, tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "outside.csv").write_text("secret")
    (served / "link.csv").symlink_to(tmp_path / "outside.csv")
    text = TEXT.partition("[workload]")[0] + f'[workload]\ntasks = "{place}"\n[manager]\npolicy = "random"\n'
    (message,) = look(text, served).messages
    assert message.allowed == "must lie in the folder that is served"
    assert "secret" not in str(message)


def test_results_do_not_go_through_a_link(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "results").symlink_to(tmp_path)
    (message,) = look(TEXT, served).messages
    assert message.found == "leads out of the folder that is served"


def at(text: str) -> Offers:
    """What is offered where the text has a bar."""
    before, _, after = text.partition("|")
    return offers_at(before + after, before.count("\n") + 1, len(before.rpartition("\n")[2]))


@pytest.mark.parametrize(
    ("text", "first", "n"),
    [
        ("na|", "name = ", 1),
        ("[man|", "manager]", 1),
        ("[[va|", "[variant]]", 1),
        ("keep = |", '"first"', 3),
        ('[system]\ngenerator = "over|', '"oversubscribed"', 1),
        ('[system]\ngenerator = "oversubscribed"\nspecial_t|', "special_task_types = ", 1),
        ("[manager]\npreempts = |", "false", 2),
        ('[manager]\npolicy = [\n  "max-util",\n  "pric|', '"prices"', None),
        ('[scheduler]\npolicy = "easy|', '"easy"', None),
        ('[optimise]\ngoal = "pro|', '"profit"', 1),
        ("[[variant]]\nwork|", "workload.", 1),
        ("[nothing]\n|", None, 0),
        ("name = 3 # na|", None, 0),
    ],
)
def test_completion_offers_what_may_stand_there(text: str, first: str | None, n: int | None) -> None:
    found = at(text)
    assert next((offer.text for offer in found.offers), None) == first
    assert n is None or len(found.offers) == n


def test_keys_that_are_there_are_not_offered_again() -> None:
    assert "trials = " not in [offer.text for offer in at("trials = 3\n|\n[system]\ntrials = 2").offers]


def test_offers_say_what_they_mean_and_where_they_begin() -> None:
    found = at('[system]\ngenerator = "oversubscribed"\n  special_t|')
    assert (found.start, found.about) == (2, "keys of [system]")
    assert found.offers[0].meaning == "how many of them are special-purpose"


LENGTH = 200_000
"""Of such texts, even the square of the length takes more time than there is."""


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize(
    "text",
    [
        "[" + " " * LENGTH + "!",
        "x = " + "a" * LENGTH + "!",
        'x = "' + '\\"' * LENGTH,
        "x = [\n" + "1,\n" * LENGTH,
        "name" + " " * LENGTH,
    ],
)
def test_no_text_keeps_the_editor_from_answering(text: str) -> None:
    assert offers_at(text, 1, LENGTH).start >= 0
    assert Lines(text).of(Problem("x", text.replace("x", "found [")), "a.toml") != 0


def test_a_copy_of_many_lines_gets_its_name() -> None:
    assert _renamed("\n" * LENGTH + "name = 'a'\n", "b") == "\n" * LENGTH + 'name = "b"\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[a]\nb = """x\n]\n"""\nc = 1\nd = nothing', 6),
        ("[a]\nb = [ # [\n '[',\n]\nc = 1\nd = nothing", 6),
        ('b = "[" # {\nc = 1\n[a]\nd = nothing', 4),
    ],
)
def test_values_of_several_lines_end_where_they_do(text: str, line: int) -> None:
    assert Lines(text).of(Problem("a.d", "found 'nothing'"), "a.toml") == line


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_whatever_a_text_is_something_is_said_of_it(seed: int) -> None:
    draw = Random(seed)
    text = altered(WRONG if seed % 2 else QUICKLY + TEXT, draw).encode("utf-8", "replace").decode()
    lines = text.split("\n")
    line = draw.randrange(len(lines))
    offered = offers_at(text, line + 1, draw.randrange(len(lines[line]) + 1))
    assert offered.start <= len(lines[line])
    told = [message.line for message in look(text, HERE).messages]
    assert all(number is None or 1 <= number <= len(lines) for number in told)
