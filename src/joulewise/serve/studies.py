"""The list of studies, one study as its report tells it, and two held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.errors import InputError
from joulewise.serve.answer import Answer, Cell, Facts, Link, Links, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Text, Wish
from joulewise.serve.board import Place
from joulewise.serve.subject import BROKEN, FINISHED, STATUSES, Subject
from joulewise.units import count, duration

if TYPE_CHECKING:
    from joulewise.serve.bench import Bench

MOST_LISTED = 100
_ANY = "any"
_READING = "being read"


# --- the list -----------------------------------------------------------------------------------------------------


def _list_wishes(_: Bench) -> Sequence[Wish]:
    options = {_ANY: "any status", **dict.fromkeys(STATUSES)}
    return (
        Text("q", "Search", "Words of the name, the folder, or what came out."),
        Choice("status", "Status", options={key: text or key for key, text in options.items()}),
    )


def list_studies(bench: Bench, asked: Asked) -> Answer:
    """The studies that are asked for, with the first finding of each."""
    found = [subject for subject in bench.shelf.subjects() if _is_asked(subject, asked)]
    shown = found[:MOST_LISTED]
    headlines = [bench.headline(subject) for subject in shown]
    rows = [_row(subject, headline) for subject, headline in zip(shown, headlines, strict=True)]
    left = f"{len(found) - len(shown):,} more are not shown; search for them." if len(found) > len(shown) else ""
    headings = ["Study", "Status", "Run at", "What came out"]
    blocks = [Table("Studies in this folder", headings, rows, left)] if rows else [_nothing(asked)]
    lead = f"{count(len(found), 'study', 'studies')} in {bench.settings.folder.resolve().name or '/'}."
    return Answer("Studies", blocks, lead, unsettled=None in headlines)


def _is_asked(subject: Subject, asked: Asked) -> bool:
    texts = (subject.title, subject.place, subject.headline or "")
    is_named = all(any(word in text.casefold() for text in texts) for word in asked["q"].casefold().split())
    return is_named and asked["status"] in (_ANY, subject.status)


def _row(subject: Subject, headline: str | None) -> list[Cell]:
    state = subject.state
    told = _READING if headline is None else headline
    return [
        Cell(subject.title, subject.name, subject.address),
        Cell(state.status, state.status, kind="words"),
        Cell(str(state.about.get("run_at", ""))[:16].replace("T", " "), state.about.get("run_at"), kind="words"),
        Cell(told, headline, kind="words"),
    ]


def _nothing(asked: Asked) -> Sentences:
    if asked["q"] or asked["status"] != _ANY:
        return Sentences([Said("No study is like that.", "Search for other words, or for any status.")])
    advice = "Run one with `joulewise run STUDY.toml`, or begin one under Run; its results appear here."
    return Sentences([Said("There are no results in this folder yet.", advice)])


# --- one study ----------------------------------------------------------------------------------------------------


def show_study(subject: Subject) -> Answer:
    """What the report of a study says; of one that is not finished, what is known."""
    state = subject.state
    if state.status == BROKEN:
        lines = [Said("This folder cannot be read.", state.problem)]
        return Answer(subject.title, [Sentences(lines), _files(subject)])
    if state.status != FINISHED:
        return Answer(subject.title, [_so_far(subject), _files(subject)], unsettled=True)
    try:
        told = subject.report
    except InputError as error:
        return Answer(subject.title, [Sentences([Said("This folder cannot be read.", str(error))]), _files(subject)])
    return Answer(subject.title, [*told[:1], _particulars(subject), _files(subject), *told[1:]], subject.description)


def _so_far(subject: Subject) -> Sentences:
    status = subject.status
    words = {
        "running": ("This study is being run.", "The page looks again by itself until it is finished."),
        "unfinished": ("This study is not finished.", "Run it again to finish it: finished runs are kept."),
    }
    return Sentences([Said(*words[status])])


def _particulars(subject: Subject) -> Facts:
    results = subject.results
    about = subject.state.about
    pairs = [
        ("Status", subject.status),
        ("Kind", subject.kind),
        ("Runs", f"{results.n_runs:,}"),
        ("Trials", f"{results.n_trials:,}"),
        ("Time of the runs", duration(results.seconds)),
        ("Run at", str(about["run_at"])[:16].replace("T", " ")),
    ]
    return Facts(pairs)


def _files(subject: Subject) -> Links:
    base = f"{subject.address}/files"
    links = [Link("The study file (TOML)", f"{base}/study.toml")]
    if subject.status == FINISHED:
        links += [
            Link("All runs (Parquet)", f"{base}/runs.parquet"),
            Link("All runs (CSV)", f"{base}/runs.csv"),
            Link("The report (HTML)", f"{base}/report.html"),
        ]
    return Links(links, "Downloads", is_files=True)


# --- two studies --------------------------------------------------------------------------------------------------


def _compare_wishes(bench: Bench) -> Sequence[Wish]:
    names = {each.name: f"{each.title} ({each.place})" for each in bench.shelf.subjects() if each.is_readable}
    options = {"": "choose one", **names}
    return (
        Choice("a", "Base", "It is subtracted from the other.", options),
        Choice("b", "Against it", options=options),
    )


def compare(bench: Bench, asked: Asked) -> Answer:
    """Two studies held against each other, as `joulewise compare` does."""
    names = (asked["a"], asked["b"])
    if not all(names):
        return Answer(
            "Compare", lead="Choose two studies of one kind. Trials that both have are held against each other."
        )
    from joulewise.present.comparison.page import draft_of_comparison
    from joulewise.serve.telling import comparison_told
    from joulewise.study.answers.comparison import compare as compared

    sides = [bench.subject(name) for name in names]
    draft = draft_of_comparison(compared(*(side.results for side in sides)))
    links = Links([Link(side.title, side.address) for side in sides], "The studies")
    return Answer(f"{sides[1].title} against {sides[0].title}", [*comparison_told(draft), links])


PLACES = (
    Place("", "Studies", "The studies in the folder, with status and headline.", list_studies, _list_wishes),
    Place("compare", "Compare", "Two studies held against each other.", compare, _compare_wishes),
)
