"""Every verb does what it says, in words and in JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from joulewise.cli.app import VERBS, called
from joulewise.cli.catalogue import lists
from joulewise.cli.explain import explain
from joulewise.kernels.jit import mark_kernels_compiled
from joulewise.policies.tasks.table import POLICIES
from joulewise.study.store.store import Store
from tests.strategies.calling import COMMAND, call
from tests.strategies.proofs import alter_proofs, alter_texts
from tests.strategies.small import HEURISTIC, QUICKLY, TEXT, timed
from tests.strategies.small_bags import FRONT, PROFIT
from tests.strategies.small_fronts import EVOLVED, UTILITY
from tests.strategies.small_jobs import LOG, LOGGED
from tests.strategies.sources import EXAMPLES

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small study in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    return path


def test_help_names_every_verb(capsys: Capture) -> None:
    said = call(capsys, "--help")
    assert said.code == 0
    assert all(f"\n  {verb} " in said.out for verb in VERBS)


@pytest.mark.parametrize(
    ("verb", "absent"), [("--help", {"numpy", "polars", "numba", "rich", "pydantic"}), ("list", {"numba", "altair"})]
)
def test_nothing_heavy_is_loaded_that_is_not_needed(verb: str, absent: set[str]) -> None:
    code = "import sys; from joulewise.cli import main\ntry: main([sys.argv[1]])\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, verb], capture_output=True, text=True, check=True)
    assert not absent & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "verbs"),
    [(["run", "list"], ["run"]), (["--help", "run"], [*VERBS]), (["runn"], [*VERBS]), ([], [*VERBS])],
)
def test_only_the_verb_that_is_called_is_made_ready(words: list[str], verbs: list[str]) -> None:
    assert [command.name for command in called(words).registered_commands] == verbs


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_in_a_whole_sentence(verb: str, capsys: Capture) -> None:
    said = call(capsys, verb, "--help")
    assert said.code == 0
    assert (VERBS[verb].__doc__ or "").partition("\n")[0].endswith((".", "..."))


def test_new_writes_a_study_that_check_accepts(study: Path, capsys: Capture) -> None:
    assert call(capsys, "new", "mine/My study.toml").code == 0
    said = call(capsys, "check", "mine/My study.toml", "--json")
    assert json.loads(said.out)["name"] == "My-study"
    assert json.loads(said.out)["n_runs"] == 18


@pytest.mark.parametrize(
    ("kind", "n_runs"), [("front", 6), ("profit", 9), ("pricing", 6), ("utility", 6), ("jobs", 12), ("facility", 9)]
)
def test_new_writes_a_study_of_each_kind(kind: str, n_runs: int, study: Path, capsys: Capture) -> None:
    assert call(capsys, "new", "bag.toml", "--kind", kind).code == 0
    found = json.loads(call(capsys, "check", "bag.toml", "--json").out)
    assert found["n_runs"] == n_runs
    assert call(capsys, "new", "other.toml", "--kind", "x").code == 2


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FRONT, ("percent of the proven hypervolume", "Recovered LP (trial ", "knee at", "of computing")),
        (PROFIT, ("profit per second", "Verdicts: better not to run (2 of 4), profit (2 of 4).", "The most is")),
        (UTILITY + EVOLVED, ("percent of hypervolume", "bound's", "NSGA-II (trial ", "per MJ", "of computing")),
    ],
    ids=["front", "profit", "utility"],
)
def test_run_verify_and_report_of_searches(text: str, words: tuple[str, ...], study: Path, capsys: Capture) -> None:
    study.write_text(text)
    said = call(capsys, "run", study, "--workers", 1, "--out", "here")
    assert said.code == 0, said.err
    assert all(word in said.out for word in words), said.out
    assert Path("here/report.html").is_file()
    said = call(capsys, "verify", "here")
    assert (said.code, "runs hold" in said.out) == (0, True), said.out
    found = json.loads(call(capsys, "run", study, "--out", "here", "--no-report", "--json").out)
    assert found["n_failed"] == 0
    assert {"mean", "metric"} <= found["summary"][0].keys()


def test_methods_and_columns_of_bags_are_listed_and_explained(study: Path, capsys: Capture) -> None:
    assert "nsga2" in call(capsys, "list", "methods").out
    assert "profit" in call(capsys, "list", "kinds").out
    said = call(capsys, "explain", "nsga2").out
    assert "Friese 5.4.4, 6.4" in said
    assert "Friese 5.4.4, 7.2" in said
    assert "reference point" in call(capsys, "explain", "hypervolume_percent").out
    assert "optimise" in call(capsys, "explain", "optimise.profit_ratio").out
    assert "the machines, the clusters, or the nodes" in call(capsys, "explain", "system").out
    assert "clouds" in call(capsys, "explain", "utility").out
    assert 'optimise.objective = "expected"' in call(capsys, "explain", "expected").out
    assert "nothing is called 'certifed'" in call(capsys, "explain", "certifed").err


def test_policies_for_jobs_are_listed_and_explained(capsys: Capture) -> None:
    assert "fcfs-multiple-queues" in call(capsys, "list", "job-policies").out
    said = call(capsys, "explain", "easy").out
    assert 'use: scheduler.policy = "easy"' in said
    assert "nodes held ahead: for 1 of the jobs that cannot start at once, until it starts" in said


def test_measures_of_machines_are_not_those_of_clusters(study: Path, capsys: Capture) -> None:
    assert call(capsys, "new", "nodes.toml", "--kind", "jobs").code == 0
    said = call(capsys, "check", "nodes.toml", "--measures")
    assert (said.code, "measures of machines" in said.err) == (2, True)


def test_new_writes_an_example_with_the_files_that_it_names(study: Path, capsys: Capture) -> None:
    said = call(capsys, "new", "--example", "trace")
    assert said.out == "Wrote trace.toml and small.swf.gz. Next: joulewise check trace.toml\n"
    assert Path("trace.toml").read_text() == (EXAMPLES / "trace.toml").read_text()
    assert call(capsys, "new", "mine.toml", "--example", "trace").code == 0  # the log is there already, and the same
    assert json.loads(call(capsys, "check", "mine.toml", "--json").out)["name"] == "mine"
    assert call(capsys, "new", "own/My own.toml", "--example", "heuristic").code == 0
    assert json.loads(call(capsys, "check", "own/My own.toml", "--json").out)["name"] == "My-own"


def test_examples_are_listed_and_explained(capsys: Capture) -> None:
    rows = json.loads(call(capsys, "list", "examples", "--json").out)["examples"]
    assert {row["name"] for row in rows} == {path.stem for path in EXAMPLES.glob("*.toml")} - {"site"}
    said = call(capsys, "explain", "heuristic").out
    assert "with: root_time.py" in said
    assert "use: joulewise new --example heuristic" in said


def test_new_tells_what_it_cannot_write(study: Path, capsys: Capture) -> None:
    assert "did you mean 'trace'?" in call(capsys, "new", "--example", "trce").err
    assert "give one of the two" in call(capsys, "new", "--example", "trace", "--kind", "jobs").err
    Path("small.swf.gz").write_text("another log")
    said = call(capsys, "new", "--example", "trace")
    assert (said.code, "small.swf.gz: is there already" in said.err) == (2, True)
    assert not Path("trace.toml").exists()


def test_new_overwrites_nothing(study: Path, capsys: Capture) -> None:
    said = call(capsys, "new", study)
    assert (said.code, said.out) == (2, "")
    assert "is there already" in said.err
    assert study.read_text() == TEXT


def test_check_prints_runs_time_and_disk(study: Path, capsys: Capture) -> None:
    said = call(capsys, "check", study)
    assert said.code == 0
    for words in ("small: nothing wrong", "8 (4 points x 2 trials)", "to compute", "time", "disk"):
        assert words in said.out
    assert not Path("results").exists()


def test_check_warns_of_jobs_that_fit_nowhere(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "study.toml").write_text(LOGGED)
    said = call(capsys, "check", tmp_path / "study.toml")
    assert "logged: no mistake, 1 warning" in said.out
    assert "Warning: log.swf: 1 of 5 jobs fits on no cluster" in said.out
    found = json.loads(call(capsys, "check", tmp_path / "study.toml", "--json").out)
    assert [warning["where"] for warning in found["warnings"]] == ["log.swf"]


def test_check_measures_the_systems_over_the_trials(study: Path, capsys: Capture) -> None:
    study.write_text(TEXT.replace("task_types = 12", 'task_types = 12\naffinity = ["as drawn", "low"]', 1))
    said = call(capsys, "check", study, "--measures")
    assert said.code == 0
    for words in ("general-purpose part", "system.affinity", "as drawn", "low", "system tma"):
        assert words in said.out
    found = json.loads(call(capsys, "check", study, "--measures", "--json").out)["systems"]
    assert [row["differs"] for row in found] == [{"system.affinity": "as drawn"}, {"system.affinity": "low"}]
    assert [row["n_trials"] for row in found] == [2, 2]
    drawn, low = (row["ranges"] for row in found)
    assert low["system_tma"] == pytest.approx([0, 0], abs=1e-12)
    assert drawn["system_tma"][1] > drawn["system_tma"][0] > 0
    assert low["system_mph"] == pytest.approx(drawn["system_mph"])


def test_check_measures_a_system_from_tables_once(study: Path, capsys: Capture) -> None:
    Path("etc.csv").write_text("task_type,a,b\nx,1,\ny,2,3\n")
    start, end = TEXT.index("[system]"), TEXT.index("[workload]")
    study.write_text(f'{TEXT[:start]}[system]\netc_s = "etc.csv"\n\n{TEXT[end:]}')
    (found,) = json.loads(call(capsys, "check", study, "--measures", "--json").out)["systems"]
    assert (found["source"], found["differs"], found["n_trials"]) == ("tables", {}, 1)
    assert found["ranges"]["system_tma"] is None
    assert call(capsys, "check", study, "--measures").code == 0


def test_run_verify_and_report(study: Path, capsys: Capture) -> None:
    mark_kernels_compiled("managed")  # else the first run says that it compiles
    said = call(capsys, "run", study, "--workers", 1, "--no-report")
    assert (said.code, said.err) == (0, "")
    assert "best" in said.out
    assert "results/small" in said.out
    assert re.search(r"^8 runs, .* of computing\. Results: ", said.out, re.MULTILINE)
    said = call(capsys, "verify", "results/small")
    assert (said.code, "8 of 8 runs hold" in said.out) == (0, True)
    assert "4 of 8 runs have stored detail tables, which were compared as well." in said.out
    assert re.match(r"Computing 8 runs of 8 again, which takes about .*s\.", said.err)
    said = call(capsys, "report", "results/small", "--format", "svg")
    assert said.code == 0
    written = [Path(line) for line in said.out.splitlines()]
    assert {path.suffix for path in written} == {".html", ".svg"}
    assert all(path.is_file() for path in written)
    assert "8 stored already" in call(capsys, "check", study).out


def test_compiling_is_announced_only_where_something_is_run(
    study: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.kernels.jit.kernels_are_compiled", lambda _kind: False)
    said = [call(capsys, "run", str(study), "--workers", "1", "--no-report").err for _ in range(2)]
    assert ["Compiling for this machine" in text for text in said] == [True, False]


def test_a_finished_study_says_that_nothing_is_computed(study: Path, capsys: Capture) -> None:
    said = [call(capsys, "run", study, "--out", "here", "--workers", "1", "--no-report").err for _ in range(2)]
    assert ["8 runs were there already: nothing is computed." in text for text in said] == [False, True]
    checked = call(capsys, "verify", "here").out
    assert checked.startswith("8 of 8 runs hold\n")
    assert "max-util" not in checked


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_run_in_json_has_the_summary(study: Path, capsys: Capture) -> None:
    said = call(capsys, "run", study, "--out", "here", "--workers", 1, "--no-report", "--json")
    found = json.loads(said.out)
    assert (found["folder"], found["report"], found["n_runs"], found["n_failed"]) == ("here", None, 8, 0)
    percents = [row for row in found["summary"] if row["metric"] == "utility_percent"]
    assert len(percents) == 4
    assert {"manager.policy", "manager.dropping_threshold", "mean", "low", "high", "n"} <= percents[0].keys()
    assert not Path("here/report.html").exists()
    verified = json.loads(call(capsys, "verify", "here", "--json").out)
    assert (verified["n_runs"], verified["n_computed_again"], verified["chance_that_one_is_found"]) == (8, 8, 1.0)
    assert [verdict["problems"] for verdict in verified["verdicts"]] == [[]] * 8


def test_verify_exits_1_when_something_does_not_hold(small_copy: Path, capsys: Capture) -> None:
    alter_texts(Store(small_copy), lambda text: text.replace('"maximum_utility": ', '"maximum_utility": 1'))
    said = call(capsys, "verify", small_copy)
    assert said.code == 1
    assert "0 of 8 runs hold" in said.out


def test_verify_claims_no_more_than_was_drawn(
    small_results: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.study.verifying.drawing.SHORT_S", 0.0)
    said, told = (call(capsys, "verify", small_results, "--seed", 3, *how) for how in ((), ("--json",)))
    found = json.loads(told.out)
    n = found["n_computed_again"]
    assert (said.code, told.code, found["n_judged"], found["n_runs"]) == (0, 0, n, 8)
    assert (found["n_altered"], found["chance_that_one_is_found"], found["seed"] >= 0) == (1, n / 8, True)
    assert f"Computing {n} run" in said.err
    percent = f"{100 * n / 8:.1f} %"
    assert f"If 1 run was altered at random, it is found with {percent}." in said.err
    assert "--all computes all of them again; --seed 3 draws the same again." in said.err
    assert re.match(
        rf"{n} of 8 runs (was|were) computed again, and holds?; {8 - n} (was|were) not computed again\n", said.out
    )
    assert call(capsys, "verify", small_results, "--all").out.startswith("8 of 8 runs hold\n")


def test_verify_counts_those_that_hold_of_those_that_were_drawn(
    small_copy: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.study.verifying.drawing.SHORT_S", 0.0)
    alter_proofs(Store(small_copy), lambda proof: proof | {"maximum_utility": 1.0})
    said = call(capsys, "verify", small_copy)
    assert said.code == 1
    assert re.search(r"computed again, and 0 of them hold; \d (was|were) not computed again\n", said.out)


def test_verify_exits_4_when_runs_were_not_checked(study: Path, capsys: Capture) -> None:
    study.write_text(timed(TEXT))
    call(capsys, "run", study, "--out", "here", "--workers", "1", "--no-report")
    said = call(capsys, "verify", "here")
    assert said.code == 4
    assert "1 of 2 runs were not checked: what was decided depended on how long deciding took" in " ".join(
        said.out.split()
    )


def test_runs_that_fail_exit_3_and_say_why(study: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise MemoryError("too much")

    monkeypatch.setattr("joulewise.simulate.tasks.serial.simulate", failing)
    said = call(capsys, "run", study, "--workers", 1)
    assert said.code == 3
    assert "8 of 8 runs failed" in said.err
    assert "8 x MemoryError: too much" in said.err
    assert Path("results/small/report.html").is_file()
    assert "best" not in said.out


def test_many_reasons_are_counted_the_most_frequent_first(
    study: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter([0, 1, 2, 3, 4, 5, 6, 6])

    def failing(*_: object) -> None:
        raise MemoryError(f"reason {next(calls)}")

    monkeypatch.setattr("joulewise.simulate.tasks.serial.simulate", failing)
    said = call(capsys, "run", study, "--workers", 1)
    reasons = [line.strip() for line in said.err.splitlines() if " x " in line]
    assert reasons[0].startswith("2 x MemoryError: reason 6")
    assert all(line.startswith("1 x MemoryError: reason ") for line in reasons[1:5])
    assert reasons[5].startswith("2 x 2 other reasons")


def test_a_fault_of_ours_exits_1_without_a_traceback(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty() -> None:
        raise AssertionError("cannot be")

    monkeypatch.setattr("joulewise.study.parsing.schema.json_schema", faulty)
    monkeypatch.delenv("JOULEWISE_DEBUG", raising=False)
    said = call(capsys, "schema")
    assert said.code == 1
    assert "AssertionError: cannot be" in said.err
    assert "JOULEWISE_DEBUG=1" in said.err
    assert "Traceback" not in said.err
    monkeypatch.setenv("JOULEWISE_DEBUG", "1")
    with pytest.raises(AssertionError, match="cannot be"):
        call(capsys, "schema")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError("No space left on device (os error 28)"), "output: cannot be written: No space left on device"),
        (PermissionError(13, "Permission denied", "x.csv"), "x.csv: cannot be read or written: Permission denied"),
    ],
)
def test_what_the_system_refuses_is_no_fault_of_ours(
    error: OSError, told: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise error

    monkeypatch.setattr("joulewise.study.parsing.schema.json_schema", refused)
    said = call(capsys, "schema")
    assert (said.code, told in said.err) == (2, True), said.err


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_output_to_a_full_disk_exits_2() -> None:
    with Path("/dev/full").open("w") as full:
        said = subprocess.run([*COMMAND, "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert said.returncode == 2
    assert "output: cannot be written: No space left on device\n      make room" in said.stderr


@pytest.mark.thorough("starts processes and takes seconds")
def test_list_names_the_policies_and_every_kind_has_json(capsys: Capture) -> None:
    said = call(capsys, "list")
    assert said.code == 0
    assert all(f" {policy} " in said.out for policy in POLICIES)
    assert [name for name in lists() if name not in said.out] == []
    for kind in lists():
        rows = json.loads(call(capsys, "list", kind, "--json").out)[kind]
        assert rows
        assert call(capsys, "list", kind).code == 0


def test_everything_that_is_listed_is_explained(capsys: Capture) -> None:
    for kind, entries in lists().items():
        for entry in entries():
            explain(entry.names[0])
            assert entry.names[0] in capsys.readouterr().out, kind


def test_explain_finds_a_key_by_its_last_word_and_speaks_json(capsys: Capture) -> None:
    assert "between the mapping events" in call(capsys, "explain", "mapping_interval").out
    assert "for the estimate before anything has run" in call(capsys, "explain", "program.takes").out
    assert "how soon memory answers" in call(capsys, "explain", "chase").out
    assert "keys: most_busy, wait" in call(capsys, "explain", "idle").out
    assert "joulewise new --kind measure" in call(capsys, "explain", "measure").out
    (found,) = json.loads(call(capsys, "explain", "max-max-upt", "--json").out)
    assert (found["kind"], found["mode"]) == ("policy", "batch")


@pytest.mark.parametrize(
    ("verb", "name", "guess"), [("explain", "max-utl", "max-util"), ("list", "policy", "policies")]
)
def test_a_typo_gets_the_nearest_name(verb: str, name: str, guess: str, capsys: Capture) -> None:
    said = call(capsys, verb, name)
    assert said.code == 2
    assert f"did you mean '{guess}'?" in said.err


def test_schema_and_versions_print_json(capsys: Capture) -> None:
    assert json.loads(call(capsys, "schema").out)["title"] == "Joulewise study"
    assert json.loads(call(capsys, "versions", "--json").out).keys() >= {"joulewise", "python", "numba"}
    assert "polars" in call(capsys, "versions").out


@pytest.mark.parametrize("arguments", [["fly"], ["run"], ["run", "x.toml", "--fast"], ["check", "--workers", "x"]])
def test_a_wrong_call_exits_2(arguments: list[str], capsys: Capture) -> None:
    said = call(capsys, *arguments)
    assert said.code == 2
    assert "Traceback" not in said.err


@pytest.mark.thorough("starts processes and takes seconds")
def test_a_reader_that_has_read_enough_is_no_fault() -> None:
    listing = subprocess.Popen([*COMMAND, "list", "keys"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert listing.stdout is not None
    listing.stdout.close()
    _, err = listing.communicate(timeout=60)
    assert (listing.returncode, err) == (0, b"")


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_report_runs_no_code_of_a_user(study: Path, capsys: Capture) -> None:
    Path("mine.py").write_text(HEURISTIC)
    study.write_text(QUICKLY + TEXT.replace('["random", "max-max-upt"]', '"mine.py:mine"'))
    assert call(capsys, "run", study, "--workers", 1, "--no-report").code == 0
    Path("mine.py").write_text("raise SystemExit('was run')")
    assert call(capsys, "report", "results/small").code == 0
