"""`joulewise versions`: what is installed, for bug reports."""

from __future__ import annotations

from joulewise.cli.output import AsJson, print_json, print_table

_LIBRARIES = (
    "numpy", "scipy", "numba", "highspy", "polars", "pydantic", "typer", "rich", "altair",
    "vl-convert-python",
)  # fmt: skip


def versions(as_json: AsJson = False) -> None:
    """Print what is installed, for bug reports."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from joulewise._version import __version__

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    found = {"joulewise": __version__, "python": platform.python_version(), "system": platform.platform()}
    found |= {name: installed(name) for name in _LIBRARIES}
    if as_json:
        print_json(found)
    else:
        print_table("", [{"what": name, "version": value} for name, value in found.items()], header=False)
