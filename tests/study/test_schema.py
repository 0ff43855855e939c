"""The JSON schema accepts what the reader accepts, sweeps included."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from joulewise.study.parsing.schema import json_schema, study_keys
from joulewise.study.parsing.templates import templates
from tests.strategies.small import TEXT
from tests.study.test_examples import STUDIES
from tests.study.test_study_file import TABLES


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(json_schema())


def accepts(text: str) -> bool:
    return bool(validator().is_valid(tomllib.loads(text)))


def test_it_is_a_schema_and_json() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    json.dumps(json_schema(), allow_nan=False)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.name))
def test_it_accepts_the_examples(path: Path) -> None:
    assert accepts(path.read_text())


def test_it_accepts_tables_variants_and_the_templates() -> None:
    assert accepts(TEXT)
    assert accepts(TABLES)
    assert all(accepts(template.format(file="a.toml", name="a")) for template in templates().values())
    assert accepts(TEXT + '[[variant]]\nname = "a"\nworkload.tasks_per_day = [1, 2]\n')


def test_it_accepts_a_list_wherever_a_sweep_may_stand() -> None:
    assert accepts(TEXT.replace("= 150", "= [150, 300]"))
    assert accepts(TEXT.replace("[2, 3]", "[[2, 3], [4]]"))
    assert accepts(TEXT.replace('"10 min"', '["10 min", "20 min"]'))
    assert accepts(TEXT + "class_thresholds = [{special = 0.5}, {}]\nmapping_model = [[0, 0, 0], [1, 0.5, 0]]\n")
    assert accepts(TEXT + '[supply]\nbudget = ["1 GJ", "2 GJ"]\ntariff = "prices.csv"\n')
    assert not accepts(TEXT.replace("trials = 2", "trials = [2, 3]"))


@pytest.mark.parametrize(
    ("old", "new"),
    [('"10 min"', "600"), ("tasks_per_day", "task_per_day"), ("trials = 2", "trials = 0"), ('"day"', '"dy"')],
)
def test_it_refuses_what_the_reader_refuses(old: str, new: str) -> None:
    assert not accepts(TEXT.replace(old, new))


def test_defaults_are_shown_as_a_file_gives_them() -> None:
    defaults = {key.path: key.default for key in reversed(study_keys())}
    assert defaults["workload.warm_up"] == '"2 h"'
    assert defaults["manager.class_thresholds"] == "{}"
    assert defaults["system.static_power"] == '"66 W"'
    assert defaults["workload.tasks"] == ""
