"""The table of verbs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Annotated, Any

import typer

from joulewise._version import __version__
from joulewise.cli import (
    arena,
    check,
    check_policy,
    compare,
    explain,
    export,
    import_,
    list_,
    measure,
    new,
    query,
    report,
    reproduce,
    run,
    schema,
    serve,
    slurm,
    verify,
    versions,
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"joulewise {__version__}")
        raise typer.Exit(0)


def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """What stands before a verb."""


VERBS: dict[str, Callable[..., None]] = {
    "new": new.new,
    "import": import_.import_,
    "check": check.check,
    "check-policy": check_policy.check_policy,
    "run": run.run,
    "verify": verify.verify,
    "measure": measure.measure,
    "report": report.report,
    "compare": compare.compare,
    "query": query.query,
    "export": export.export,
    "list": list_.list_,
    "explain": explain.explain,
    "reproduce": reproduce.reproduce,
    "arena": arena.arena,
    "serve": serve.serve,
    "slurm": slurm.slurm,
    "schema": schema.schema,
    "versions": versions.versions,
}
"""Every verb and the function that does it, in the order of the help."""


def _until_closed(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb, ended quietly when the reader of its output has read enough (`joulewise list | head -1`)."""

    @wraps(verb)
    def call(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the exit
            raise typer.Exit(0) from None

    return call


def app_of(verbs: Iterable[str]) -> typer.Typer:
    """The command line with these verbs: to make all of them ready takes longer than many a one does."""
    app = typer.Typer(
        help="The most useful work out of every joule: studies of heterogeneous computing systems.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich's help costs more than everything else that --help loads
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for verb in verbs:
        app.command(verb)(_until_closed(VERBS[verb]))
    return app


def called(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the verb that is called, or with all of them where it is none or not the first word."""
    return app_of(VERBS.keys() & arguments[:1] or VERBS)
