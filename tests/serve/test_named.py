"""What studies may name in a workbench: nothing outside of the served folder is looked at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.serve import solving
from joulewise.serve.whatif import question_of
from tests.strategies.every_kind import made
from tests.strategies.served import client_of, say_studied_in

SECRET = "prices nobody may read"
NAMES = {"beside": "tariff.csv", "above": "../tariff.csv", "by its whole name": "{outside}/tariff.csv"}


def refusal_of(served: Path, study_folder: Path, tariff: str) -> str:
    """Why no point is solved of results that say that their study was there, and has a tariff."""
    results = served / "studies" / "profit"
    shutil.copytree(made("profit").folder, results)
    study = results / "study.toml"
    study.write_text(f'{study.read_text()}\n[supply]\ntariff = "{tariff}"\n'.replace("cost_per_kwh = 0.1\n", ""))
    say_studied_in(results, study_folder)
    subject = client_of(served).app.state.bench.shelf.subject("studies-profit")
    with pytest.raises(InputError) as caught:
        solving.columns_of(question_of(subject, 0))
    return str(caught.value)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("is_there", [True, False])
def test_what_lies_outside_is_refused_whether_it_is_there_or_not(tmp_path: Path, name: str, *, is_there: bool) -> None:
    outside = tmp_path / "outside"
    (outside / "deeper").mkdir(parents=True)
    tariff = name.format(outside=outside)
    if is_there:
        (outside / "tariff.csv").write_text(SECRET)
    study_folder = outside / "deeper" if tariff.startswith("..") else outside
    told = refusal_of(tmp_path / "served", study_folder, tariff)
    assert SECRET not in told
    assert f"found {tariff!r}; must lie in the folder that is served" in told


def test_what_lies_inside_is_read(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "tariff.csv").write_text(SECRET)
    told = refusal_of(served, served, "tariff.csv")
    assert "must lie in" not in told
    assert "tariff.csv" in told


def test_a_study_that_names_no_file_may_have_been_anywhere(tmp_path: Path) -> None:
    shutil.copytree(made("managed").folder, tmp_path / "managed")
    assert client_of(tmp_path).get("/api/studies/managed/what-if").status == 200
