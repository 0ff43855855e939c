"""Write the reference pages that come from tables: `python -m tools.reference`, or `make reference`.

The pages are committed, so that they can be read anywhere; a test fails when one is not what this writes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from importlib import import_module
from itertools import groupby
from pathlib import Path

from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.main import get_command

from joulewise.cli.app import VERBS, app_of
from joulewise.cli.catalogue import lists
from joulewise.files import write_atomic
from joulewise.measure.bench.bundled import KERNELS as KERNELS_OF_LABORATORY
from joulewise.measure.bench.observations import COLUMNS as OBSERVATIONS
from joulewise.measure.plan.table import SYNTHETIC, PlanKey, plan_keys, title_of
from joulewise.present import gallery
from joulewise.simulate.jobs.window import MEANINGS as OF_JOBS
from joulewise.simulate.tasks.window import MEANINGS as OF_TASKS
from joulewise.simulate.window import Meaning
from joulewise.study.kinds.columns import Described, all_columns
from joulewise.study.kinds.systems import all_sections
from joulewise.study.parsing.schema import StudyKey, study_keys
from joulewise.study.spec.report import REPORT
from joulewise.study.spec.trials import TUNE
from joulewise.worlds.assignments.chance_tables import SAMPLE_COLUMNS
from joulewise.worlds.bags.bag import BAG_COLUMNS
from joulewise.worlds.facility.colocation import COLOCATION_COLUMNS
from joulewise.worlds.facility.flow_tables import PAIR_COLUMNS, SPEED_COLUMNS
from joulewise.worlds.facility.flow_tables import TASK_COLUMNS as FLOW_COLUMNS
from joulewise.worlds.facility.heat_tables import HEAT_COLUMNS
from joulewise.worlds.facility.site_tables import CRAC_COLUMNS, NODE_COLUMNS, NODE_TYPE_COLUMNS
from joulewise.worlds.frames import InputColumn
from joulewise.worlds.jobs.cluster_tables import CLUSTER_COLUMNS, JOB_TIME_COLUMNS
from joulewise.worlds.jobs.node_outages import OUTAGE_COLUMNS
from joulewise.worlds.jobs.sites.outages import SITE_OUTAGE_COLUMNS
from joulewise.worlds.jobs.sites.site_file import SECTIONS, key_of
from joulewise.worlds.jobs.sites.slurm_settings import SETTINGS, SlurmSetting
from joulewise.worlds.jobs.sites.written import KINDS
from joulewise.worlds.jobs.tables import JOB_COLUMNS
from joulewise.worlds.jobs.trace_files import TRACE_COLUMNS
from joulewise.worlds.series import SERIES_COLUMNS
from joulewise.worlds.system_tables import (
    ETC_COLUMNS,
    MACHINE_COLUMNS,
    POWER_COLUMNS,
)
from joulewise.worlds.tasks.tables import TASK_COLUMNS

FOLDER = Path(__file__).parent.parent / "docs" / "reference"

TABLES: dict[str, tuple[InputColumn, ...]] = {
    "etc_s": ETC_COLUMNS,
    "power_w": POWER_COLUMNS,
    "machines": MACHINE_COLUMNS,
    "samples": SAMPLE_COLUMNS,
    "tasks": TASK_COLUMNS,
    "bag": BAG_COLUMNS,
    "clusters": CLUSTER_COLUMNS,
    "job_times": JOB_TIME_COLUMNS,
    "jobs": JOB_COLUMNS,
    "trace": TRACE_COLUMNS,
    "outages": (*OUTAGE_COLUMNS, *SITE_OUTAGE_COLUMNS),
    "node_list": NODE_COLUMNS,
    "node_type_list": NODE_TYPE_COLUMNS,
    "crac_list": CRAC_COLUMNS,
    "heat": HEAT_COLUMNS,
    "task_list": FLOW_COLUMNS,
    "speeds": SPEED_COLUMNS,
    "slowdowns": PAIR_COLUMNS,
    "colocation": COLOCATION_COLUMNS,
    "power_cap_by_hour": SERIES_COLUMNS,
    "tariff": SERIES_COLUMNS,
}
"""Every column of every table (name, unit, meaning, whether it must be there), by the key of its file."""


def table(heads: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = (heads, ("---",) * len(heads), *rows)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """Text as code, nothing if there is none."""
    return f"`{text}`" if text else ""


# --- policies ----------------------------------------------------------------------------------------------------


def policies() -> str:
    """One paragraph of facts for every row of the policy table."""
    intro = (
        "`manager.policy` names one of these, or [a heuristic of your own](../how-to/write-a-heuristic.md). The works "
        "are in the [bibliography](../bibliography.md)."
    )
    rows = [entry.facts for entry in lists()["policies"]()]
    cells = ((code(row["name"]), row["title"], row["mode"], row["summary"], row["source"]) for row in rows)
    tasks = f"{intro}\n\n" + table(("name", "title", "mode", "what it does", "published in"), cells)
    return f"{tasks}\n\n## For parallel jobs\n\n{_job_policies()}"


def _job_policies() -> str:
    intro = "`scheduler.policy` names one of these, or [a function of your own](../how-to/clusters.md)."
    rows = [entry.facts for entry in lists()["job-policies"]()]
    facts = ("title", "rule", "summary", "nodes held ahead", "source")
    cells = ((code(row["name"]), *(row[fact] for fact in facts)) for row in rows)
    heads = ("name", "title", "rule", "what it does", "nodes held ahead", "published in")
    return f"{intro}\n\n" + table(heads, cells)


# --- study files -------------------------------------------------------------------------------------------------

_STUDY_INTRO = """\
A study is a TOML file. It has a heading, the sections `[system]` and `[workload]`, and one section that decides:

- `[manager]` maps tasks as they arrive;
- `[scheduler]` gives nodes of clusters to parallel jobs;
- `[optimise]` searches for a bag of tasks, for tasks known in advance or for a facility.

`[supply]` may be left out. So may `[system]` where a log of jobs describes its machine. Quantities are text with a
unit ("10 min", "66 W", "1.11 GJ"). A list in place of a single value is a sweep. Several lists make every combination.
A range in place of a number, such as `{ from = 1.0, to = 4.0, log = true }`, is drawn from as often as `samples` says.
`[tune]` chooses swept values by trials of their own. `[report]` says what the report shows, and no run depends on it.
A key whose value is a list is swept by a list of lists. `[[variant]]` gives named combinations, which replace values of
the sections. Files are named relative to the study. `joulewise schema` prints the JSON schema, with which editors
complete and check study files. The works named here are in the [bibliography](../bibliography.md)."""


def study_file() -> str:
    """Every key of a study file by section and source, then the columns of the tables that it may name."""
    sections = ("", *all_sections(), TUNE, REPORT)
    by_section = sorted(study_keys(), key=lambda key: sections.index(key.path.rpartition(".")[0]))
    groups = groupby(by_section, key=lambda key: (key.path.rpartition(".")[0], key.source))
    keys = [_key_table(section, source, list(members)) for (section, source), members in groups]
    return "\n\n".join((_STUDY_INTRO, *keys, *_input_tables()))


def _key_table(section: str, source: str, keys: list[StudyKey]) -> str:
    title = " ".join(filter(None, (code(f"[{section}]") if section else "Heading", source)))
    cells = ((code(key.path), key.kind, code(key.default) or "must be given", key.meaning) for key in keys)
    return f"## {title}\n\n" + table(("key", "type", "default", "meaning"), cells)


def _input_tables() -> list[str]:
    heads = ("column", "unit", "must be there", "meaning")
    return [
        f"## The table {code(key)}\n\n"
        + table(heads, ((code(c.name), c.unit, "yes" if c.required else "", c.meaning) for c in columns))
        for key, columns in TABLES.items()
    ]


# --- results -----------------------------------------------------------------------------------------------------

_RESULTS_INTRO = """\
A study writes into `results/NAME/`, or the folder given by `--out`: the study itself, Parquet tables, `report.html`.
`runs.parquet` has one row for every run. First come the study's keys by their dotted names (`manager.policy`), then the
columns below that its kind of study has. A `*` in a name stands for a level, a group, a machine type and the like. The
other tables are kept for the runs that `keep` selects, one file for each run. `bounds.parquet` has the proofs of bounds
as JSON, one for each world and way to prove it; certificates of bags, and what is not gathered yet, are files in
`bounds/`. Columns that are *measured* differ from computer to computer and from time to time; `joulewise verify`
computes all others again, of the runs that it draws or, with `--all`, of every run. Every table is plain Parquet with a
seal, a hash of its bytes and its name: tables that were changed or moved since are refused by what trusts them, such
as `report` and `run`, and `verify` tells what is otherwise in them."""


def results() -> str:
    """Every column of every table of results."""
    columns = all_columns()
    order = list(dict.fromkeys(described.column.table for described in columns))
    by_table = sorted(columns, key=lambda described: order.index(described.column.table))
    tables = groupby(by_table, key=lambda described: described.column.table)
    parts = (f"## {_title(name)}\n\n" + _columns(list(members)) for name, members in tables)
    return "\n\n".join((_RESULTS_INTRO, *parts))


_MEASURED = {True: " *(measured)*", False: ""}


def _title(table_name: str) -> str:
    return table_name.replace("_", " ").capitalize()


def _columns(columns: list[Described]) -> str:
    cells = (
        (code(column.name), column.unit, each.studies, column.meaning + _MEASURED[column.is_measured])
        for each in columns
        for column in [each.column]
    )
    return table(("column", "unit", "studies", "meaning"), cells)


# --- figures -----------------------------------------------------------------------------------------------------

_FIGURES_INTRO = """\
A report shows the figures whose needs the results meet, unless nothing differs in them: a dozen at once, and the others
behind a fold. `[report]` of a study, or `joulewise report FOLDER --figure NAME`, [chooses
some](../how-to/choose-figures.md). `joulewise list figures` has the same list. The pictures are of the bundled
examples, most of them made smaller."""


def figures() -> str:
    """Every figure by the studies that may have it, with a small picture."""
    every = gallery.described()
    order = list(dict.fromkeys(figure.studies for figure in every))
    groups = groupby(sorted(every, key=lambda figure: order.index(figure.studies)), key=lambda figure: figure.studies)
    return "\n\n".join((_FIGURES_INTRO, *(_figure_table(studies, list(members)) for studies, members in groups)))


def _figure_table(studies: str, members: list[gallery.Described]) -> str:
    cells = (
        (f"![{figure.name}](../images/figures/{figure.name}.png)", code(figure.name), figure.shows, figure.needs)
        for figure in members
    )
    return f"## Studies: {studies}\n\n" + table(("", "figure", "what it shows", "needs"), cells)


# --- command line ------------------------------------------------------------------------------------------------

_CLI_INTRO = """\
`joulewise VERB --help` says the same. Exit codes: 0 done; 1 an error in Joulewise, or a bar missed; 2 a mistake in the
input; 3 some runs failed; 4 `verify` could not check some runs, which does not mean those that it did not draw; 130
interrupted, and what is finished is kept."""


def command_line() -> str:
    """Every verb with its arguments and options."""
    group = get_command(app_of(VERBS))
    assert isinstance(group, TyperGroup), "the command line has verbs"
    return "\n\n".join(
        (_CLI_INTRO, *(_verb(name, command.help or "", command.params) for name, command in group.commands.items()))
    )


def _verb(name: str, summary: str, found: Iterable[object]) -> str:
    parameters = [parameter for parameter in found if isinstance(parameter, TyperArgument | TyperOption)]
    cells = [(code(_written(parameter)), parameter.help or "") for parameter in parameters]
    text = f"## {name}\n\n{summary}"
    return f"{text}\n\n" + table(("argument", "meaning"), cells) if cells else text


def _written(parameter: TyperArgument | TyperOption) -> str:
    if isinstance(parameter, TyperOption):
        return ", ".join((*parameter.opts, *parameter.secondary_opts))
    return (parameter.metavar or parameter.name or "").strip("[]").upper()


# --- plans of the laboratory ---------------------------------------------------------------------------------------

_PLAN_INTRO = """\
A plan of `joulewise measure` is a TOML file with a heading, a table `[[program]]` for each program, and sections that
may be left out. Quantities are text with a unit ("10 min", "2.4 GHz", "64 MB"). [This page](../how-to/measure.md)
explains how to write one; `joulewise explain together.pairs` describes one key. Messages count the entries of lists
from 0, as those of study files do, and add the name where there is one: `program[1] (solver)` is the second
`[[program]]`."""

_SYNTHETIC_INTRO = """\
A machine that is simulated in place of this one. It runs no programs, so a `[[program]]` beside it has only `name` and
`cores`. Without any, all programs of the machine are measured."""

_KERNELS_INTRO = """\
`kernel` of a `[[program]]` names one of these. They come with Joulewise. `footprint` and `seconds` change how large
they are and how long they run."""

_OBSERVATIONS_INTRO = """\
`observations.parquet` and `observations.csv` of a folder have a row for each member of each run. What was not read is
empty."""


def plan_file() -> str:
    """Every key of a plan by section, then the bundled kernels and the columns of what is measured."""
    keys = [_plan_table(name, list(members)) for name, members in groupby(plan_keys(), key=lambda key: key.table)]
    rows = ((code(column.name), column.unit, column.meaning) for column in OBSERVATIONS)
    columns = f"## Observations\n\n{_OBSERVATIONS_INTRO}\n\n" + table(("column", "unit", "meaning"), rows)
    return "\n\n".join((_PLAN_INTRO, *keys, _bundled_kernels(), columns))


def _bundled_kernels() -> str:
    heads = ("kernel", "what it does", "footprint by default")
    rows = ((code(kernel.name), kernel.meaning, kernel.usual_size) for kernel in KERNELS_OF_LABORATORY.values())
    return f"## Bundled kernels\n\n{_KERNELS_INTRO}\n\n" + table(heads, rows)


def _plan_table(name: str, keys: list[PlanKey]) -> str:
    title, intro = code(title_of(name)) if name else "Heading", _SYNTHETIC_INTRO if name == SYNTHETIC else ""
    cells = ((code(key.name), key.kind, code(key.default) or "must be given", key.meaning) for key in keys)
    return "\n\n".join(filter(None, (f"## {title}", intro, table(("key", "type", "default", "meaning"), cells))))


# --- sites ---------------------------------------------------------------------------------------------------------

_SITE_INTRO = """\
A site is a TOML file with a `name`, tables of each kind, and settings of its Slurm. [This page](../how-to/sites.md)
explains how to make one. Quantities are text with a unit ("2 d", "512 GiB"); 1 GB is 1000 MB, 1 GiB is 1024 MiB. What
is left out limits nothing."""

_SLURM_INTRO = """\
Settings of a Slurm, under its own names in lower case. Numbers are those of Slurm, in its units. Those with
a default are what the policy `multifactor` and `passes = "slurm"` go by; the others are not replayed, which is told
where it matters."""


def site_file() -> str:
    """Every key of a site's file by section."""
    heads = ("key", "type", "default", "meaning")
    parts = (
        f"## `[[{name}]]`\n\n{section.meaning}\n\n" + table(heads, map(_site_key, fields(section.holds)))
        for name, section in SECTIONS.items()
    )
    rows = ((code(name), KINDS[each.kind].said, _usual(each), each.meaning) for name, each in SETTINGS.items())
    slurm = f"## `[slurm]`\n\n{_SLURM_INTRO}\n\n" + table(heads, rows)
    return "\n\n".join((_SITE_INTRO, *parts, slurm))


def _usual(setting: SlurmSetting) -> str:
    return "" if setting.usual is None else code(KINDS[setting.kind].write(setting.usual))


def _site_key(key: Field[object]) -> tuple[str, ...]:
    kind = KINDS[key.metadata["kind"]]
    must = key.default is MISSING and key.default_factory is MISSING
    default = kind.write(key.default) if key.default not in (MISSING, None, ()) else ""
    return code(key_of(key)), kind.said, "must be given" if must else code(default), key.metadata["help"]


# --- Python ------------------------------------------------------------------------------------------------------

_BLOCK = re.compile(
    r"(?:^\| name \| what it is \|\n(?:\|.*\n)+\n)?^::: joulewise(\.?\w*)\n    options:\n      members: \[(.*)\]$",
    re.MULTILINE,
)
"""What the site makes the description of names of, and the table of them before it."""


def python() -> str:
    """The page of names as it stands, with a table before each list of members, for readers without the site."""
    text = (FOLDER / "python.md").read_text(encoding="utf-8")
    return _BLOCK.sub(_with_names, text.partition("\n\n")[2].removesuffix("\n"))


def _with_names(block: re.Match[str]) -> str:
    inner, members = block.groups()
    module = import_module(f"joulewise{inner}")
    cells = ((code(f"jw{inner}.{name}"), _first_sentence(getattr(module, name))) for name in members.split(", "))
    directive = block[0][block[0].index(":::") :]
    return f"{table(('name', 'what it is'), cells)}\n\n{directive}"


def _first_sentence(thing: object) -> str:
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text)[0].removesuffix(".")


# --- environments ------------------------------------------------------------------------------------------------

_ENVIRONMENTS_INTRO = """\
An environment shows an agent one array of numbers from 0 to 1, in this order: the rows per event once, those per
machine type or cluster for each of them, and then for each place of the window its own rows and those of each of its
options. `env.unwrapped.entries` names each number. With `actions="prices"` there are no places; at the end stands what
a mean run costs at the price of each machine type's or cluster's time, then at that of energy: x / (x + s) of
it, s the highest scale in trial 0."""

_SEEN = {"joulewise/Tasks-v0": OF_TASKS, "joulewise/Jobs-v0": OF_JOBS}


def environments() -> str:
    """What each number that an agent sees means."""
    parts = (f"## `{name}`\n\n{_meanings(seen)}" for name, seen in _SEEN.items())
    return "\n\n".join((_ENVIRONMENTS_INTRO, *parts))


def _meanings(seen: Iterable[Meaning]) -> str:
    rows = ((code(meaning.name), f"each {meaning.per}", meaning.text) for meaning in seen)
    return table(("name", "there is one for", "meaning"), rows)


PAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "policies.md": ("Policies", policies),
    "study-file.md": ("Study file", study_file),
    "site-file.md": ("Site file", site_file),
    "plan-file.md": ("Plan file of the laboratory", plan_file),
    "results.md": ("Results", results),
    "figures.md": ("Figures", figures),
    "command-line.md": ("Command line", command_line),
    "python.md": ("Python", python),
    "environments.md": ("Environments", environments),
}


def page(name: str) -> str:
    """The text of one page."""
    title, body = PAGES[name]
    return f"# {title}\n\n{body()}\n"


def main() -> None:
    """Write every page."""
    for name in PAGES:
        write_atomic(FOLDER / name, page(name))


if __name__ == "__main__":
    main()
