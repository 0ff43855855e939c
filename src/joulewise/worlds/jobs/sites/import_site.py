"""The site that files describe which a site has anyway: those of its Slurm, or a published list of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from joulewise.errors import InputError, Problem, attempt, raise_if_any
from joulewise.files import write_atomic
from joulewise.worlds.jobs.sites.alibaba import is_node_list, site_of_node_list
from joulewise.worlds.jobs.sites.imported import READ, ImportedSite
from joulewise.worlds.jobs.sites.site_file import parse_site, site_text
from joulewise.worlds.jobs.sites.slurm_config import site_of_slurm
from joulewise.worlds.jobs.sites.slurm_nodes import has_gpus_of_no_kind, shortened
from joulewise.worlds.jobs.sites.slurm_text import FORMS, TextForm, form_of, read_gres, read_slurm, read_text

_NODE_LIST = "a list of nodes (sn,cpu_milli,memory_mib,gpu,model)"


def import_site(paths: Sequence[Path]) -> ImportedSite:
    """The site that files describe together, each recognised by its content; InputError with every problem."""
    problems: list[Problem] = []
    texts = {path: attempt(problems, read_text, path) for path in paths}
    raise_if_any(problems)
    given = [(path, text, form_of(text)) for path, text in texts.items() if text is not None]
    lists = [(path, text) for path, text, _ in given if is_node_list(text)]
    if lists and len(given) > 1:
        found = f"{lists[0][0].name} is {_NODE_LIST}"
        raise InputError(Problem("--config", found, "it is a site for itself", "import it alone"))
    if lists:
        return site_of_node_list(lists[0][1], lists[0][0].name, name_of(lists[0][0]))
    allowed = f"must be one of {', '.join(form.name for form in FORMS)}, {_NODE_LIST}"
    raise_if_any(Problem(path.name, "is in no form that is known", allowed) for path, _, form in given if form is None)
    known: list[tuple[Path, str, TextForm]] = [(path, text, form) for path, text, form in given if form is not None]
    slurm = read_slurm(known)
    if not slurm.gres and has_gpus_of_no_kind(slurm):
        beside = (path.with_name("gres.conf") for path, _, form in known if form.name == "slurm.conf")
        slurm.gres += (line for path in beside if path.is_file() for line in read_gres(path, slurm.problems))
    return site_of_slurm(slurm, name_of(paths[0]))


def name_of(path: Path) -> str:
    """What a site is called that has no other name: as its file, without what follows the first dot."""
    return path.name.partition(".")[0] or "site"


def write_site(imported: ImportedSite, path: Path, sources: Sequence[str]) -> None:
    """Write what was imported as a file of a site, with what became of its sources at the head."""
    text = imported_text(imported, sources)
    parse_site(text, path.name)
    write_atomic(path, text)


def imported_text(imported: ImportedSite, sources: Sequence[str]) -> str:
    """The file of a site that was imported."""
    head = [f"From {', '.join(sources)} by joulewise import --config. Look through what was guessed, and change it."]
    rows = [f"{fate}: {what}: {shortened(said)}" for fate, what, said in imported.findings if fate != READ]
    lines = [line for row in (*head, *rows) for line in wrap(row, 110, subsequent_indent="  ")]
    return site_text(imported.site, lines, imported.notes)
