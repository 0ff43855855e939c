"""Holding clocks and giving them back, also after a refusal and after a death."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.measure.analysis.clock_scaling import scaling_table
from joulewise.measure.analysis.columns import shaped
from joulewise.measure.bench.bench import ClockSetting
from joulewise.measure.bench.observations import COLUMNS
from joulewise.measure.bench.setting import clock_problems
from joulewise.measure.machine.clocks import Clocks
from joulewise.measure.machine.machine import read_machine
from joulewise.measure.meters.seen_clocks import OTHER_CLOCK, clock_notes
from tests.strategies import trees
from tests.strategies.small_lab import TEXT, small_plan

SET_BY = ("scaling_governor", "scaling_min_freq", "scaling_max_freq")
write_text = Path.write_text


def settings(root: Path, core: int) -> tuple[str, ...]:
    """Governor and limits of one core."""
    return tuple((root / trees.CPU / f"cpu{core}/cpufreq" / name).read_text().strip() for name in SET_BY)


def as_kernel(path: Path, text: str, **options: str) -> int:
    """Write as the kernel would: a lower limit above the upper one is refused."""
    low, high = path.with_name("scaling_min_freq"), path.with_name("scaling_max_freq")
    limits = {place: int(place.read_text()) for place in (low, high) if place.exists()}
    if path in limits:
        limits[path] = int(text)
        if limits[low] > limits[high]:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return write_text(path, text, **options)


@pytest.mark.parametrize("tree", [trees.ivy_bridge, trees.xeon, trees.arm_server])
def test_a_frequency_is_held_and_given_back(
    tree: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(tmp_path / "root")
    trees.write(root, {f"{trees.CPU}/cpu0/cpufreq/scaling_max_freq": 1700000})
    before = [settings(root, core) for core in range(4)]
    note = tmp_path / "clocks.json"
    monkeypatch.setattr(Path, "write_text", as_kernel)
    clocks = Clocks(root, note)
    assert clocks.availability().is_available
    with suppress(KeyboardInterrupt), clocks.holding(ClockSetting(frequency_mhz=2600), (0, 1)):
        assert {settings(root, core)[1:] for core in (0, 1)} == {("2600000", "2600000")}
        assert settings(root, 3) == before[3]
        assert note.exists()
        raise KeyboardInterrupt
    assert [settings(root, core) for core in range(4)] == before
    assert not note.exists()


def test_a_governor_is_held_and_given_back(tmp_path: Path) -> None:
    root = trees.ivy_bridge(tmp_path)
    with Clocks(root).holding(ClockSetting(governor="performance"), (2,)):
        assert [settings(root, core)[0] for core in (2, 3)] == ["performance", "ondemand"]
    assert settings(root, 2)[0] == "ondemand"


def test_cores_that_nothing_runs_on_are_held_as_near_below_as_they_can(tmp_path: Path) -> None:
    root = trees.hybrid(tmp_path / "hybrid")
    before = [settings(root, core) for core in range(8)]
    with Clocks(root).holding(ClockSetting(frequency_mhz=4000), (0,), range(1, 8)):
        assert [settings(root, core)[1:] for core in (0, 1, 2, 7)] == [("4000000",) * 2] * 3 + [("3300000",) * 2]
    assert [settings(root, core) for core in range(8)] == before
    stepped = trees.ivy_bridge(tmp_path / "desktop")
    steps = {6: "3401000 2500000 1600000", 7: "3400000 3000000"}
    folder = f"{trees.CPU}/cpu{{}}/cpufreq/scaling_available_frequencies"
    trees.write(stepped, {folder.format(core): text for core, text in steps.items()})
    with Clocks(stepped).holding(ClockSetting(frequency_mhz=2600), (0,), (6, 7)):
        assert [settings(stepped, core)[2] for core in (0, 6, 7)] == ["2600000", "2500000", "3000000"]
    with Clocks(stepped).holding(ClockSetting(frequency_mhz=3400), (0,), ()):
        assert settings(stepped, 0)[2] == "3400000"  # not the step for turbo beside it


def test_a_plan_needs_its_clocks_only_on_cores_that_it_uses(tmp_path: Path) -> None:
    clocks = Clocks(trees.hybrid(tmp_path))
    machine = read_machine(tmp_path)
    for cores, told in (('"separate"', 0), ("[0, 2]", 0), ("[0, 4]", 1), ('"any"', 4)):
        plan = small_plan('[clock]\nfrequencies = ["4 GHz"]', f"cores = {cores}\n{TEXT}")
        assert len(list(clock_problems(plan, machine, clocks))) == told


def test_a_clock_that_was_not_seen_is_noted() -> None:
    held = ClockSetting(2000.0)
    assert clock_notes(held, [[2100.0], []]) == clock_notes(held, [[2100.0, 800.0]]) == (f"{OTHER_CLOCK} (2100 MHz)",)
    assert (
        clock_notes(held, [[1950.0], [2600.0, 2000.0]])
        == clock_notes(held, [])
        == clock_notes(ClockSetting(), [[9.0]])
        == ()
    )


def test_turbo_and_clocks_that_were_not_held_do_not_mislead_the_fit() -> None:
    rows = [
        {"program": "a", "size": 1, "clock_mhz": mhz, "notes": notes, "wall_s": 3400.0 / ran}
        for mhz, notes, ran in (
            (1600, "", 1600),
            (2600, f"{OTHER_CLOCK} (2 MHz)", 2000),
            (3400, None, 3400),
            (3401, "", 3900),
        )
        for _ in range(2)
    ]
    (found,) = scaling_table(shaped(pl.DataFrame(rows), COLUMNS)).to_dicts()
    assert (found["share_scaled"], found["n_clocks"]) == (pytest.approx(1.0), 2)


def test_what_is_not_offered_is_told_before_anything_is_set(tmp_path: Path) -> None:
    root = trees.ivy_bridge(tmp_path / "desktop")
    with (
        pytest.raises(InputError, match="found 2500 MHz; must be one of 1600, 1700, 2600, 3400, 3401 MHz"),
        Clocks(root).holding(ClockSetting(frequency_mhz=2500), (0,)),
    ):
        pass
    (problem,) = Clocks(root).problems(ClockSetting(governor="performnce"), (0,))
    assert "did you mean 'performance'?" in str(problem)
    server = Clocks(trees.xeon(tmp_path / "server"))
    assert not server.problems(ClockSetting(frequency_mhz=2512.5), (0,))
    assert "must be 800 to 3900 MHz" in str(server.problems(ClockSetting(frequency_mhz=4000), (0,))[0])


def test_a_refusal_gives_back_what_was_set_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = trees.xeon(tmp_path)
    before = settings(root, 0)

    def refuse(path: Path, text: str, **options: str) -> int:
        if "policy1" in str(path) and text == "2600000":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", refuse)
    with (
        pytest.raises(InputError, match=r"only root may set it; run as root, or .*chmod a\+w"),
        Clocks(root).holding(ClockSetting(frequency_mhz=2600), (0, 1)),
    ):
        pass
    assert settings(root, 0) == before


def test_what_cannot_be_given_back_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, note = trees.write(trees.xeon(tmp_path / "root"), {trees.BOOT: "first"}), tmp_path / "clocks.json"
    before, clocks = settings(root, 0), Clocks(root, note)

    def stuck(path: Path, text: str, **options: str) -> int:
        if path.name == "scaling_governor" and text == before[0]:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", stuck)
    for _ in range(2):  # the second finds what the first left, and must not take it for what was there
        with (
            pytest.raises(InputError, match=f"could not be given back its '{before[0]}'"),
            clocks.holding(ClockSetting(governor="performance"), (0,)),
        ):
            pass
    monkeypatch.setattr(Path, "write_text", write_text)
    with clocks.holding(ClockSetting(governor="performance"), (0,)):
        assert settings(root, 0)[0] == "performance"
    assert (settings(root, 0), note.exists()) == (before, False)


def test_ctrl_c_waits_until_clocks_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = trees.xeon(tmp_path)
    before = settings(root, 0)

    def interrupted(path: Path, text: str, **options: str) -> int:
        if text == before[0]:
            signal.raise_signal(signal.SIGINT)
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", interrupted)
    was = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), Clocks(root).holding(ClockSetting(governor="performance"), (0,)):
            pass
    finally:
        signal.signal(signal.SIGINT, was)
    assert settings(root, 0) == before


def test_a_limit_that_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = trees.xeon(tmp_path)
    monkeypatch.setattr(Path, "write_text", lambda _, text, **__: len(text))
    with (
        pytest.raises(InputError, match=r"did not take '2600 MHz' \(it stays at '800000'"),
        Clocks(root).holding(ClockSetting(frequency_mhz=2600), (0,)),
    ):
        pass


def test_what_a_killed_laboratory_left_is_given_back(tmp_path: Path) -> None:
    root, note = trees.write(trees.xeon(tmp_path / "root"), {trees.BOOT: "first"}), tmp_path / "clocks.json"
    before = settings(root, 0)
    with Clocks(root, note).holding(ClockSetting(frequency_mhz=2600, governor="performance"), (0,)):
        left, held = note.read_text(), settings(root, 0)
    outside = tmp_path / "outside/scaling_governor"
    trees.write(tmp_path, {"outside/scaling_governor": "mine"})
    damaged = json.loads(left)
    damaged["settings"][str(outside)] = "theirs"
    for name, value in zip(SET_BY, held):
        (root / trees.CPU / "cpu0/cpufreq" / name).write_text(value)
    note.write_text(json.dumps(damaged))
    assert Clocks(root, note).restore_left_behind()
    assert settings(root, 0) == before
    assert outside.read_text() == "mine\n"  # only clocks are ever written
    assert not Clocks(root, note).restore_left_behind()
    for text in (left, "torn {"):  # of an earlier start of the machine; not a note at all
        note.write_text(text)
        trees.write(root, {trees.BOOT: "second"})
        assert not Clocks(root, note).restore_left_behind()
        assert not note.exists()


def test_why_clocks_cannot_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Clocks(trees.container(tmp_path / "bare"))
    assert "no choice of clock (cpufreq) for cores 0-1 (a container)" in bare.availability().found
    with (
        pytest.raises(InputError, match="leave the clock as it is"),
        bare.holding(ClockSetting(governor="performance"), (0,)),
    ):
        pass
    with bare.holding(ClockSetting(), (0,)):
        pass
    server = Clocks(trees.xeon(tmp_path / "server"))
    assert server.availability().found == "800 to 3900 MHz (intel_pstate)"
    assert server.governor_availability().found == "performance, powersave"
    trees.write(server.root, {"proc/self/status": "Cpus_allowed_list:\t0-3"})
    assert "cores 4-7 belong to other users, who may raise the clock" in server.availability().found
    monkeypatch.setattr(os, "access", lambda *_: False)
    for user, words in ((0, "mounted read-only"), (1000, "only by root")):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert words in server.availability().found
        assert server.governor_availability().remedy
