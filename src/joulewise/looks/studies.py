"""How studies and their results show themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from joulewise.looks.look import Facts, Look, of_one
from joulewise.units import duration

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.study import Results, Study
    from joulewise.study.store.store import Tables


def _study_facts(study: Study) -> Facts:
    return {
        "name": study.name,
        "kind": study.kind.name,
        "points": f"{len(study.points):,}",
        "runs": f"{study.most_runs:,}",
        "swept": ", ".join(study.axes),
    }


def _study_tables(study: Study) -> Tables:
    from joulewise.study.store.tables import raw_table

    return {"points": raw_table(point.cells() for point in study.points)}


def _results_facts(results: Results) -> Facts:
    n_failed = results.failed.height
    return {
        "study": results.study.name,
        "runs": f"{results.n_runs:,}",
        "failed": f"{n_failed:,}" if n_failed else "",
        "trials": f"{results.n_trials:,}",
        "compared": results.compared,
        "time": duration(results.seconds),
        "folder": str(results.folder),
    }


def _results_tables(results: Results) -> Tables:
    return {"runs": results.runs}


def _results_pictures(results: Results) -> Pictures:
    from joulewise.present.page import drawable
    from joulewise.present.results import records_of

    records = records_of(results)
    return {figure.name: partial(figure.draw, records) for figure in drawable(records)}


LOOKS = {
    "Study": Look("A study", _study_facts, _study_tables),
    "Results": Look("Results of a study", _results_facts, _results_tables, of_one(_results_pictures)),
}
