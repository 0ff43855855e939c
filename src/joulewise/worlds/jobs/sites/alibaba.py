"""Lists of nodes as Alibaba published them with its GPU traces: sn,cpu_milli,memory_mib,gpu,model."""

from __future__ import annotations

from collections.abc import Iterator

from joulewise.errors import Problem, raise_if_any
from joulewise.units import count
from joulewise.worlds.jobs.sites.imported import CHANGED, Findings, ImportedSite, tell_read
from joulewise.worlds.jobs.sites.site import SiteTables
from joulewise.worlds.jobs.sites.slurm_nodes import NO_KIND, NodeKind, grouped

HEADER = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_WHOLE = ("cpu_milli", "memory_mib", "gpu")
_MOST = 10**12


def is_node_list(text: str) -> bool:
    """Whether a text is such a list."""
    return tuple(text.partition("\n")[0].strip().split(",")) == HEADER


def site_of_node_list(text: str, file_name: str, name: str) -> ImportedSite:
    """The site that a list of nodes describes, without partitions; InputError with every problem."""
    findings, kinds = Findings(), dict[str, NodeKind]()
    for line, cells in enumerate(text.splitlines(), 1):
        if line > 1 and cells.strip():
            row, where = cells.split(","), f"{file_name}: line {line:,}"
            problems = list(_problems(row, where, kinds))
            findings.problems += problems
            if not problems:
                kinds[row[0]] = _kind(row, findings)
    if not kinds and not findings.problems:
        findings.problems.append(Problem(file_name, "there are no nodes", "must have a line for each node"))
    raise_if_any(findings.problems)
    groups = grouped(kinds, {}, lambda _, kind: kind.gpus[0][0] if kind.gpus else "cpu")
    site = SiteTables(name=name, nodes=tuple(each.group for each in groups))
    tell_read(site, findings)
    return ImportedSite(site, findings.rows(), {("nodes", each.group.name): each.nodes for each in groups})


def _problems(row: list[str], where: str, known: dict[str, NodeKind]) -> Iterator[Problem]:
    if len(row) != len(HEADER):
        yield Problem(where, f"found {count(len(row), 'cell')}", f"must be {','.join(HEADER)}", "get the list again")
        return
    for name, cell in zip(HEADER, row, strict=True):
        if name in _WHOLE and not (cell.isascii() and cell.isdigit() and int(cell[:13]) < _MOST):
            yield Problem(f"{where}, {name}", f"found {cell[:60]!r}", "must be a whole number of 0 or more")
    if row[0] in known:
        yield Problem(f"{where}, sn", f"found {row[0]!r} again", "each node may have one line")


def _kind(row: list[str], findings: Findings) -> NodeKind:
    _, milli, memory, n_gpus, model = row
    if int(milli) % 1000:
        findings.tell(CHANGED, "cpu_milli", "rounded down to whole processors")
    gpus = ((model or NO_KIND, int(n_gpus)),) if int(n_gpus) else ()
    return NodeKind(max(int(milli) // 1000, 1), int(memory) or None, gpus, (), (), 1)
