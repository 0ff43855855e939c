"""The page to play on: sliders for a small day, what came out of it, and the lessons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joulewise.errors import JoulewiseError
from joulewise.serve.answer import Answer, Block, Cell, Link, Links, Said, Sentences, Source, Table
from joulewise.serve.asking import Asked, Choice, Hidden, Number, Wish, asked
from joulewise.serve.board import Place
from joulewise.serve.play.compiling import Compiling, is_compiled
from joulewise.serve.play.day import ENVIRONMENTS, FILTERS, MOST_BUDGET_MJ, POLICIES, Played, Setting, played
from joulewise.serve.play.lessons import LESSONS, State
from joulewise.units import energy

if TYPE_CHECKING:
    from joulewise.serve.bench import Bench

_NOBODY = ""
_COMPILING = Compiling()
_LEAD = (
    "Six machines, a day of tasks that lose worth as they wait, and a budget of energy. Choose who decides: the day is "
    "simulated at once, and shown beside what nobody could beat."
)
_WISHES: Sequence[Wish] = (
    Choice("policy", "Policy", options=POLICIES),
    Choice("beside", "Beside it", options={_NOBODY: "nobody", **POLICIES}, default=_NOBODY),
    Number("tasks", "Tasks a day", "Six machines can do about 800.", 100, 1200, 25, 700),
    Number("threshold", "Dropping threshold", "Tasks that can only earn less are dropped.", 0, 4, 0.25, 0.5),
    Number("budget", "Energy budget", "More than the day can use is no limit.", 5, MOST_BUDGET_MJ, 1, 100, "MJ"),
    Choice("filter", "Energy filter", "What takes away choices that use too much.",
           options=FILTERS),
    Number("leniency", "Leniency", "Times a fair share; for the fair-share filter.", 0.2, 4, 0.1, 1),
    Choice("environment", "Machines", "Whether tasks wait in a queue of a machine, or until one is idle.",
           options=ENVIRONMENTS),
    Number("seed", "Another day", "Other tasks and other machines of the same kinds.", 0, 20, 1, 0),
    Hidden("lesson", "Lesson", options={"": "none", **{key: lesson.title for key, lesson in LESSONS.items()}}),
)  # fmt: skip


def setting_of(what: Asked) -> Setting:
    """What was chosen."""
    beside = [] if what["beside"] in (_NOBODY, what["policy"]) else [what["beside"]]
    return Setting(
        policies=(what["policy"], *beside),
        tasks=round(what["tasks"]),
        threshold=what["threshold"],
        budget_mj=what["budget"],
        environment=what["environment"],
        energy_filter=what["filter"],
        leniency=what["leniency"],
        seed=round(what["seed"]),
    )


def play(bench: Bench, what: Asked) -> Answer:
    """The day as it was chosen, with the lesson that was opened."""
    if not bench.desk.ask(is_compiled):
        return _compiling()
    setting = setting_of(what)
    found = bench.desk.solve(played, setting)
    return Answer(
        "Play",
        [
            Links([_lesson_link(i, key) for i, key in enumerate(LESSONS, 1)], "Five lessons"),
            *_lesson_told(what["lesson"]),
            Sentences([_sentence(title, found) for title in found.columns], "What came out"),
            *found.plots,
            _in_numbers(found),
            Source("The study behind it", setting.text),
        ],
        _LEAD,
    )


def _compiling() -> Answer:
    """What is said meanwhile, or when that failed."""
    if not _COMPILING.begin():
        raise JoulewiseError("The kernels of the small day cannot be compiled here; `joulewise run` tells why.")
    words = Said("Compiling for this machine, once; this takes a minute or two.", "The day begins by itself then.")
    return Answer("Play", [Sentences([words])], _LEAD, unsettled=True)


def address_of(lesson: str, state: State) -> str:
    """The address of a state of a lesson."""
    values = {key: value if isinstance(value, str) else f"{value:g}" for key, value in state.items()}
    chosen = asked(_WISHES, [*values.items(), ("lesson", lesson)])
    return f"/play{chosen.query()}"


def _lesson_link(number: int, key: str) -> Link:
    return Link(f"{number}. {LESSONS[key].title}", address_of(key, LESSONS[key].state))


def _lesson_told(key: str) -> list[Block]:
    if not key:
        return []
    lesson = LESSONS[key]
    tries = [Link(text, address_of(key, state)) for text, state in lesson.tries]
    begin = Link("Back to where it begins", address_of(key, lesson.state))
    return [Sentences([Said(lesson.question, lesson.idea)], lesson.title), Links([*tries, begin])]


def _sentence(title: str, found: Played) -> Said:
    """What a policy earned, of how much that is possible, and with what."""
    row = found.columns[title]
    lead = (
        f"{title} earns {row['utility']:,.0f} of the {row['utility_bound']:,.0f} that are possible: "
        f"{row['possible_percent']:.1f} %."
    )
    done = (
        f"{row['tasks_arrived']:,} tasks arrive in the day. {row['tasks_completed']:,} are completed in it and "
        f"{row['tasks_dropped']:,} dropped, some that came before it among them. The day uses "
        f"{energy(row['energy_j'])} of {energy(row['budget_j'])}"
    )
    out_s = row["exhausted_s"]
    spent = "" if out_s is None or math.isnan(out_s) else f"; 99 % of it is gone by hour {out_s / 3600:.1f}"
    return Said(lead, f"{done}{spent}.")


_ROWS: Mapping[str, tuple[str, Any]] = {
    "utility": ("Utility earned", "{:,.1f}"),
    "utility_bound": ("Nobody could earn more than", "{:,.1f}"),
    "possible_percent": ("Of what is possible, in percent", "{:.1f}"),
    "energy_j": ("Energy used", energy),
    "tasks_arrived": ("Tasks that arrived in the day", "{:,}"),
    "tasks_completed": ("Completed", "{:,}"),
    "tasks_dropped": ("Dropped", "{:,}"),
    "tasks_waiting": ("Left waiting", "{:,}"),
    "busy_percent": ("Time for which machines were busy, in percent", "{:.1f}"),
}


def _in_numbers(found: Played) -> Table:
    rows = [
        [Cell(name), *(_cell(columns[key], form) for columns in found.columns.values())]
        for key, (name, form) in _ROWS.items()
    ]
    return Table("In numbers", ["What", *found.columns], rows)


def _cell(value: Any, form: Any) -> Cell:
    return Cell(form.format(value) if isinstance(form, str) else form(value), value)


_SUMMARY = "A small day to play with, beside its bound, and five lessons."
PLACES = (Place("play", "Play", _SUMMARY, play, lambda _: _WISHES, is_live=True),)
