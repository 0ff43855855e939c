"""Plan files: every mistake at once, each at its place, with what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.measure.machine.machine import Machine
from joulewise.measure.plan.file import read_plan
from joulewise.measure.plan.plan import Plan, parse_plan
from joulewise.measure.plan.programs import resolved
from joulewise.measure.plan.table import plan_keys
from tests.strategies.small_lab import TEXT, small_plan


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
ways = ["reset", 3]
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
frequencies = [3, "0 GHz"]
[idle]
wait = "-1 s"
""")
    told = {
        "name": "must be given",
        "nme": "did you mean 'name'?",
        "repetitions": "must be 1 or more",
        "cores[1][0]": "found 1.5; must be a whole number",
        "ways[0]": "found 'reset'; must be one of restart, once; did you mean 'restart'?",
        "ways[1]": "found 3; must be one of restart, once",
        "meter": "found 3; must be a section, [meter]",
        "program[0].name": "found '2 a'; must start with a letter;",
        "program[0].command": "found 3; must be text or a list of texts",
        "program[0].time_limit": 'found 5 without a unit; must be text with one, for example "10 min"',
        "program[1] (b).footprint": "found the unit 'MX'",
        "program[1] (b).command": "quotes must come in pairs",
        "program[2] (b)": "found neither a command nor a kernel",
        "program[2] (b).name": "found 'b' twice",
        "program[3] (c)": "found both a command and a kernel",
        "program[3] (c).kernel": "did you mean 'triad'?",
        "program[4] (c).name": "found 'c' twice",
        "program[4] (c).command": "quotes must come in pairs",
        "program[4] (c).seconds": "found without a kernel",
        "together.pairs[0]": "must name two programs",
        "together.sampled[0].size": "missing",
        "together.sampled[0].sze": "did you mean 'size'?",
        "together.groups[0]": "must have 2 or more entries",
        "clock.frequencies[0]": 'for example "2.4 GHz"',
        "clock.frequencies[1]": "found '0 GHz'; must be above 0",
        "idle.wait": "found '-1 s'; must be 0 or more",
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
        ('[meter]\ntime_zone = "Mars/Phobos"', "meter.time_zone", "must be UTC, +02:00 or one such as Europe/Berlin"),
        ('[meter]\ntime_zone = "+99:00"', "meter.time_zone", "found '+99:00'"),
        ('[[program]]\nname = "c"\nkernel = "chase"\nfootprint = "1 B"', "program[2] (c).footprint", "4096 B or more"),
        ('[clock]\nfrequencies = ["1 GHz", "2 GHz", "1000 MHz"]', "clock.frequencies[2]", "found '1000 MHz' twice"),
        ('[clock]\ngovernors = ["x", "x"]', "clock.governors[1]", "found 'x' twice; entries must differ"),
        ("[synthetic]\nx = 1", "synthetic.x", "there is no such key"),
        ("[synthetic]", "program[0] (a)", "found command beside [synthetic]; a made-up machine runs nothing"),
        (
            '[together]\npairs = "al"',
            "together.pairs",
            """must be "all" or "none" or a list of lists of texts; did you""",
        ),
        ('takes = "2 h"', "program[1] (b).takes", "its runs are ended after 1 h"),
        ("[meter]\nahead = nan", "meter.ahead", "must be a finite number"),
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

    assert "small.toml: program[0] (a).command: found 'no-such-command'" in told('command = "no-such-command -x"')
    assert "program[0] (a).folder: found 'none'" in told('command = "true"\nfolder = "none"')
    (tmp_path / "mine").touch(mode=0o644)
    assert "found './mine'" in told('command = "./mine"')
    (tmp_path / "mine").chmod(0o755)
    plan: Plan = small_plan(text=TEXT.replace('"true"\n', '"./mine x"\nenvironment = { A = "1" }\n'), folder=tmp_path)
    program = resolved(plan, lambda _: ())["a"]
    assert (program.command, program.folder, program.environment) == (("./mine", "x"), str(tmp_path), (("A", "1"),))


def test_a_synthetic_plan_has_the_programs_of_its_machine() -> None:
    plan = parse_plan('name = "x"\n[synthetic]\n', "p.toml", Path())
    assert [program.name for program in plan.programs] == ["canneal", "streamcluster", "blackscholes", "bodytrack"]
    assert (
        "must be one of canneal" in problems('name = "x"\n[[program]]\nname = "q"\n[synthetic]')["program[0] (q).name"]
    )


def test_what_is_not_there_is_told_with_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine("two", (0, 1), ((0, 1),), governors=("performance", "powersave"))
    monkeypatch.setattr("joulewise.measure.plan.file.machine_of", lambda _: machine)
    (tmp_path / "p.toml").write_text("""
name = "x"
repetitions = 0
[[program]]
name = "a"
command = "no-such-command"
warm_up = -1
[[program]]
name = "b"
command = "true"
folder = "none"
cores = [7]
[together]
groups = [["a", "a", "a"]]
[clock]
governors = ["performnce"]
""")
    with pytest.raises(InputError) as caught:
        read_plan(tmp_path / "p.toml")
    assert [problem.where.removeprefix("p.toml: ") for problem in caught.value.problems] == [
        "repetitions",
        "program[0] (a).warm_up",
        "program[0] (a).command",
        "program[1] (b).folder",
        "clock.governors[0]",
        "program[1] (b).cores",
        "together",
    ]


@pytest.mark.parametrize(
    ("footprint", "told"),
    [
        ("900 GB", "p.toml: program[0] (a).footprint: found 900 GB; this machine has 8 GB of memory"),
        ("5 GB", "p.toml: together: found the group a + a, whose footprints are 10 GB together; this machine has 8 GB"),
    ],
)
def test_kernels_that_do_not_fit_into_memory_are_told(
    footprint: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine("two", (0, 1), ((0,), (1,)), memory_bytes=8_000_000_000)
    monkeypatch.setattr("joulewise.measure.plan.file.machine_of", lambda _: machine)
    (tmp_path / "p.toml").write_text(f'name="x"\n[[program]]\nname="a"\nkernel="triad"\nfootprint="{footprint}"')
    with pytest.raises(InputError) as caught:
        read_plan(tmp_path / "p.toml")
    (problem,) = caught.value.problems
    assert str(problem).startswith(told)


def test_no_wait_is_a_wait() -> None:
    assert small_plan('[idle]\nwait = "0 s"').idle.wait == 0.0


def test_the_table_of_keys_tells_types_and_defaults() -> None:
    keys = {key.path: (key.kind, key.default) for key in plan_keys()}
    assert keys["program.takes"] == ("duration", "none")
    assert keys["together.pairs"] == ('"all" or "none" or list of lists of texts', '"all"')
    assert keys["synthetic.static"] == ("power", '"55 W"')
    assert keys["synthetic.program.alone"] == ("duration", "")
    assert all(key.meaning for key in plan_keys())
