"""Whether a figure is Vega-Lite: our figures are drawn unchecked, so tests check them."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import quote

import altair as alt
import jsonschema_rs


def is_vega_lite(spec: dict[str, Any]) -> bool:
    """Whether the schema of Vega-Lite allows the spec."""
    return bool(_validator().is_valid(spec))


@cache
def _validator() -> Any:
    return jsonschema_rs.validator_for(_quoted(alt.load_schema()))


def _quoted(schema: Any) -> Any:
    """The schema with references that are addresses; Vega-Lite's have brackets in them."""
    if isinstance(schema, dict):
        return {key: quote(value, safe="#/") if key == "$ref" else _quoted(value) for key, value in schema.items()}
    return [_quoted(item) for item in schema] if isinstance(schema, list) else schema
