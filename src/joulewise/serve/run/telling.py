"""What the pages of studies and runs say: the list, what a new one starts from, a text with its messages, one run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from joulewise.serve.answer import Answer, Block, Cell, Facts, Link, Links, Said, Sentences, Source, Table
from joulewise.serve.board import Place
from joulewise.serve.run.orders import OPEN, Order, State
from joulewise.units import count, roughly

if TYPE_CHECKING:
    from joulewise.serve.asking import Asked
    from joulewise.serve.bench import Bench
    from joulewise.serve.run.editor import Checked, Message
    from joulewise.serve.run.texts import Starts, StudyText

MOST_LISTED = 100
"""So many runs are listed, the last ones first."""


# --- the list -----------------------------------------------------------------------------------------------------


def list_runs(bench: Bench, _asked: Asked) -> Answer:
    """The studies that can be run, and the runs that there are."""
    orders = bench.queue.orders.all()[::-1]
    shown = orders[:MOST_LISTED]
    names = bench.texts.names()
    start = Links([Link("New study", "/run/new", "from a template, an example or another study")])
    studies = [[Cell(name, name, edit_address(name))] for name in names]
    blocks: list[Block] = [start]
    if shown:
        left = f"{len(orders) - len(shown):,} earlier ones are not shown." if len(orders) > len(shown) else ""
        rows = [_order_row(order) for order in shown]
        blocks.append(Table("Runs, the last one first", ["Run", "Study", "State", "How far", "Ordered"], rows, left))
    if studies:
        blocks.append(Table("Studies in this folder", ["Study"], studies, "A study opens with what running it takes."))
    lead = (
        f"{count(len(names), 'study', 'studies')} to edit and run, one after the other, each in processes of its own."
    )
    return Answer("Run", blocks, lead, unsettled=any(order.state in OPEN for order in shown))


def _order_row(order: Order) -> list[Cell]:
    state, progress = order.state, order.progress
    return [
        Cell(f"{order.number}", order.number, order_address(order)),
        Cell(order.name, order.study, kind="words"),
        Cell(state, str(state), kind="words"),
        Cell(progress.kept if progress else "", progress and progress.n_done, kind="words"),
        Cell(_when(order.at_s), order.at_s, kind="words"),
    ]


# --- a new study --------------------------------------------------------------------------------------------------


def new_study(starts: Starts, names: Sequence[str]) -> Answer:
    """What a new study can start from."""
    from joulewise.study.kinds.systems import all_kinds

    kinds = all_kinds()
    rows = [
        *((f"kind:{name}", f"Template: {name}", kinds[name].summary) for name in starts.kinds),
        *((f"example:{name}", f"Example: {name}", example.description) for name, example in starts.examples.items()),
        *((f"copy:{name}", f"Copy of {name}", "a study of this folder") for name in names),
    ]
    cells = [[Cell(text, start), Cell(about, kind="words")] for start, text, about in rows]
    return Answer("New study", [Table("What it can start from", ["Start", "What it is"], cells, folded=True)])


# --- a text -------------------------------------------------------------------------------------------------------


def edited(study: StudyText, found: Checked) -> Answer:
    """A study's text with what is said of it."""
    facts = [("Verdict", found.verdict), *found.costs]
    table = [Table("Messages", ["Line", "What is said"], [_message_row(each) for each in found.messages])]
    return Answer(study.name, [Facts(facts), *(table if found.messages else []), Source("Text", study.text)])


def _message_row(message: Message) -> list[Cell]:
    return [
        Cell("" if message.line is None else f"{message.line}", message.line),
        Cell(words_of(message), kind="words"),
    ]


def words_of(message: Message) -> str:
    """A message as one line, without the name of the file, which its page has."""
    where = message.where.partition(": ")[2]
    first = f"{where}: {message.found}" if where else message.found
    return "; ".join(filter(None, (first, message.allowed, message.advice)))


def checked_told(found: Checked) -> dict[str, Any]:
    """What is said of a text, as JSON."""
    messages = [{**vars(message), "text": words_of(message)} for message in found.messages]
    costs = [{"what": what, "how_much": how_much} for what, how_much in found.costs]
    return {**vars(found), "messages": messages, "costs": costs, "is_right": found.is_right}


# --- a run --------------------------------------------------------------------------------------------------------


def one_run(order: Order, results: str) -> Answer:
    """How far a run is, what there is to say of it, and its log; `results` is the address of what came out."""
    facts = [("State", str(order.state)), ("Ordered", _when(order.at_s)), *_times(order)]
    words = _words(order)
    links = [Link("What came out", results)] if results else []
    blocks: list[Block] = [Sentences([Said(line) for line in words.splitlines()])] if words else []
    blocks += [Facts(facts), Links([*links, Link("The study", edit_address(order.study))])]
    return Answer(f"Run {order.number}: {order.name}", blocks, f"{order.study}, into {order.results}")


def status_of(order: Order) -> dict[str, Any]:
    """How far a run is, as JSON."""
    progress, state, words = order.progress, order.state, _words(order)
    return {
        "number": order.number,
        "state": str(state),
        "is_open": state in OPEN,
        "can_resume": can_resume(state),
        "n_total": progress.n_total if progress else None,
        "n_done": progress.n_done if progress else None,
        "n_failed": progress.n_failed if progress else None,
        "n_reused": progress.n_reused if progress else None,
        "left_s": progress.left_s if progress and state in OPEN else None,
        "line": _line(order),
        "words": words,
        "log": order.log,
    }


def can_resume(state: State) -> bool:
    """Whether there may be something left to do."""
    return state not in (*OPEN, State.DONE)


def _line(order: Order) -> str:
    """How far a run is, in words."""
    progress = order.progress
    state = order.state
    if progress is None or state is State.WAITING:
        return ""
    if state not in OPEN:
        return f"{progress.kept} runs are there" if progress.kept else ""
    left_s = progress.left_s or 0.0
    left = f"; about {roughly(left_s)} left" if left_s >= 1 else ""
    return progress.line + left


def _words(order: Order) -> str:
    return order.ended.words if order.ended else ""


def _times(order: Order) -> list[tuple[str, str]]:
    begun, ended = order.begun, order.ended
    since = [("Begun", _when(begun["at_s"]))] if begun and begun["at_s"] else []
    return [*since, *([("Ended", _when(ended.at_s))] if ended else [])]


def _when(at_s: float) -> str:
    return datetime.fromtimestamp(at_s).isoformat(" ", "seconds")


def order_address(order: Order) -> str:
    """Where the page of a run is."""
    return f"/run/orders/{order.number}"


def edit_address(name: str) -> str:
    """Where a study is edited."""
    return f"/run/edit?study={quote(name, safe='')}"


PLACES = (Place("run", "Run", "The studies that can be run, and the runs that there are.", list_runs),)
