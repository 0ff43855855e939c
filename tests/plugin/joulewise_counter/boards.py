"""A page of the workbench: who waits at the counter."""

from __future__ import annotations

from joulewise.serve.answer import Answer, Facts
from joulewise.serve.asking import Asked
from joulewise.serve.board import Board
from joulewise.serve.subject import Subject


def _answer(subject: Subject, _asked: Asked) -> Answer:
    return Answer("Waiting", [Facts([("Runs", str(subject.results.n_runs))])])


BOARD = Board("waiting", "Waiting", "Who waits.", lambda subject: subject.kind == "serving", _answer)
