"""HTML pages that need no network: templates with escaping, and the figure libraries inlined once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joulewise.files import write_atomic
from joulewise.present.press import pressed

_TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def vegalite_version() -> str:
    """The Vega-Lite version that Altair writes, as vl-convert names it: "6.4"."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def filled(template: str, **values: object) -> str:
    """A template filled in; every value is escaped unless the template itself marks it as safe."""
    return str(_environment().get_template(template).render(**values))


@cache
def libraries() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that cannot end its own script element.

    It is kept in the user's cache folder, where that can be written: to make it takes seconds.
    """
    kept = _kept_bundle()
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    bundle = _bundle()
    with suppress(OSError):
        write_atomic(kept, bundle)
    return bundle


def _kept_bundle() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "joulewise" / "figures" / f"vega-{version('vl-convert-python')}-{vegalite_version()}.js"


def _bundle() -> str:
    bundle = str(pressed("javascript_bundle", "window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version()))
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def figure_page(spec: Mapping[str, Any], title: str = "Joulewise figure") -> str:
    """One interactive figure as a page of its own."""
    return filled("figure.html", spec=spec, title=title, libraries=libraries())
