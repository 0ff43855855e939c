"""Plan files: every mistake at once, each at its place, with what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.measure.plan import Plan, parse_plan, read_plan
from joulewise.measure.programs import resolved
from tests.measure.small_lab import TEXT, small_plan


def problems(text: str) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        parse_plan(text, "p.toml", Path())
    return {problem.where.removeprefix("p.toml: "): str(problem) for problem in caught.value.problems}


def test_a_plan_has_defaults_for_all_but_names_and_programs() -> None:
    plan = small_plan()
    assert (plan.name, plan.heading.seed, plan.heading.ways, plan.heading.cores) == (
        "small",
        0,
        ["restart"],
        "separate",
    )
    assert [program.words for program in plan.programs] == [("true",), ("true", "-x")]
    assert (plan.together.pairs, plan.idle.most_busy, plan.meter.command) == ("all", 0.1, None)


def test_every_mistake_is_told_at_its_place() -> None:
    found = problems("""
nme = "x"
repetitions = 0
cores = [[0, 1], [1.5]]
ways = ["reset"]
meter = 3
[[program]]
name = "2 a"
command = 3
time_limit = 5
[[program]]
name = "b"
command = "a '"
footprint = "3 MX"
[[program]]
name = "b"
[[program]]
name = "c"
command = "true"
kernel = "triads"
[[program]]
name = "c"
command = "say 'x"
seconds = "1 s"
[together]
pairs = [["b", "b", "c"]]
sampled = [{ sze = 4 }]
groups = [["b"], ["c", "d"]]
[clock]
frequencies = [3]
""")
    told = {
        "name": "must be given",
        "nme": "did you mean 'name'?",
        "repetitions": "must be 1 or more",
        "cores": "may be: where members are pinned",
        "ways[0]": "must be one of 'restart' or 'once'",
        "meter": "must be a section, [meter]",
        "program[0].name": "found '2 a'",
        "program[0].command": "found 3; may be: its command line",
        "program[0].time_limit": 'found 5 without a unit; must be text with one, for example "10 min"',
        "program[1].footprint": "found the unit 'MX'",
        "together.sampled[0].size": "missing",
        "together.sampled[0].sze": "did you mean 'size'?",
        "together.groups[0]": "must have 2 or more entries",
        "clock.frequencies": 'for example "2.4 GHz"',
        "program[2]": "found neither a command nor a kernel",
        "program[3]": "found both a command and a kernel",
        "program[3].kernel": "did you mean 'triad'?",
        "program[4].name": "found 'c' twice",
        "program[4].command": "quotes must come in pairs",
        "program[4].seconds": "found without a kernel",
    }
    assert found.keys() == told.keys()
    assert {key: words for key, words in told.items() if words not in found[key]} == {}


@pytest.mark.parametrize(
    ("more", "where", "words"),
    [
        ('[together]\npairs = [["a", "x"]]', "together.pairs[0]", "found 'x'; must be one of a, b"),
        ('[together]\npairs = [["a", "b", "b"]]', "together.pairs[0]", "must name two programs"),
        ('[clock]\nfrequencies = ["1 GHz"]\ngovernors = ["x"]', "clock", "must be one of them"),
        ('[meter]\ncommand = "x"\ncsv = "y"', "meter", "must be one of them"),
        ("[synthetic]\nx = 1", "synthetic.x", "found 'x'"),
    ],
)
def test_keys_that_do_not_go_together(more: str, where: str, words: str) -> None:
    assert words in problems(TEXT + more)[where]


@pytest.mark.parametrize(("text", "words"), [("name = ", "not valid TOML"), ('name = "x"', "at least once")])
def test_files_that_are_no_plans(text: str, words: str) -> None:
    assert words in " ".join(problems(text).values())


def test_a_file_that_cannot_be_read_names_the_way_to_a_new_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--kind measure"):
        read_plan(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="byte 0 is not UTF-8"):
        read_plan(tmp_path / "binary.toml")


def test_commands_and_folders_that_are_not_there_are_told_before_anything_runs(tmp_path: Path) -> None:
    def told(line: str) -> str:
        with pytest.raises(InputError) as caught:
            resolved(small_plan(text=TEXT.replace('command = "true"', line), folder=tmp_path), lambda _: ())
        return str(caught.value)

    assert "small.toml: program[0].command: found 'no-such-command'" in told('command = "no-such-command -x"')
    assert "program[0].folder: found 'none'" in told('command = "true"\nfolder = "none"')
    (tmp_path / "mine").touch(mode=0o644)
    assert "found './mine'" in told('command = "./mine"')
    (tmp_path / "mine").chmod(0o755)
    plan: Plan = small_plan(text=TEXT.replace('"true"\n', '"./mine x"\nenvironment = { A = "1" }\n'), folder=tmp_path)
    program = resolved(plan, lambda _: ())["a"]
    assert (program.command, program.folder, program.environment) == (("./mine", "x"), str(tmp_path), (("A", "1"),))


def test_a_synthetic_plan_has_the_programs_of_its_machine() -> None:
    plan = parse_plan('name = "x"\n[synthetic]\n', "p.toml", Path())
    assert [program.name for program in plan.programs] == ["canneal", "streamcluster", "blackscholes", "bodytrack"]
    assert "must be one of canneal" in problems('name = "x"\n[[program]]\nname = "q"\n[synthetic]')["program[0].name"]
