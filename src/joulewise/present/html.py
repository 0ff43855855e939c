"""HTML pages that need no network: templates with escaping, and the figure libraries inlined once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.files import write_atomic
from joulewise.units import size

_TEMPLATES = Path(__file__).parent / "templates"
_MAKE_BUNDLE = """
import sys, vl_convert
sys.stdout.write(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=sys.argv[1]))
"""


_DRAW_NOTHING = "import vl_convert; vl_convert.vega_to_svg({})"


@cache
def check_figure_maker() -> None:
    """InputError where figures cannot be drawn: V8, which does it, ends the process where it gets no address space.

    So a process of its own tries, where there is a limit at all.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    tried = subprocess.run([sys.executable, "-P", "-c", _DRAW_NOTHING], capture_output=True, check=False)
    if tried.returncode < 0:
        found = f"cannot be drawn: `ulimit -v` leaves a process {size(limit)} of address space"
        advice = "raise it (`ulimit -v unlimited`) and write the report alone: `joulewise report FOLDER`"
        raise InputError(Problem("figures", found, "what draws them reserves more than 64 GB, and uses little", advice))


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

    It is kept in the user's cache folder, where that can be written: to make it takes seconds and much memory.
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
    """The script, made in a process of its own, which takes its 100 MB with it when it ends."""
    check_figure_maker()
    command = [sys.executable, "-P", "-X", "utf8", "-c", _MAKE_BUNDLE, vegalite_version()]
    bundle = subprocess.check_output(command, encoding="utf-8")
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def figure_page(spec: Mapping[str, Any], title: str = "Joulewise figure") -> str:
    """One interactive figure as a page of its own."""
    return filled("figure.html", spec=spec, title=title, libraries=libraries())
