"""Pages of findings: tables in Markdown, and a page whose marked parts are written from records.

A marked part stands between `<!-- findings ID -->` and `<!-- end -->`; TOTALS and STANDINGS in place of an ID stand for
the counts of verdicts and for what verdicts are worth. The words around the parts are left as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from joulewise.errors import Problem, raise_if_any
from joulewise.study.catalogue.record import FindingsRecord
from joulewise.verdicts import SILENT, STANDINGS, VERDICTS, ClaimFinding, Standing, Verdict, best, worst

TOTALS, STANDINGS_PART = "totals", "standings"
_PART = re.compile(r"(<!-- findings (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_HEAD = ("claim", "what it says", "published", "ours, ± 95 % interval over trials", "verdict")
_WORKS = ("Friese", "Machovec", "Tarplee", "Oxley", "Joulewise")
_OURS = "Joulewise"


def section_of(record: FindingsRecord) -> str:
    """The section of a page that tells what an experiment found."""
    return "\n".join(
        [
            f"### `{record.id}`: {record.title}",
            "",
            f"{record.source}; {record.effort}; `{record.command}`. Reading: {record.reading}.",
            "",
            *_table(_HEAD, [_cells(finding) for finding in record.findings]),
            "",
        ]
    )


def _cells(finding: ClaimFinding) -> list[str]:
    says = f"{finding.says} ({finding.note})" if finding.note else finding.says
    return [finding.claim, says, finding.published, finding.ours, finding.words]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = (head, ["---"] * len(head), *rows)
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


# --- over all records --------------------------------------------------------------------------------------------


_Judged = tuple[Verdict, Standing]


def _claims(records: Mapping[str, FindingsRecord]) -> dict[tuple[str, str], list[_Judged]]:
    """The verdicts on every claim in all readings and experiments, by work and the number of the claim."""
    found: dict[tuple[str, str], list[_Judged]] = {}
    for record in records.values():
        for finding in record.findings:
            work = _OURS if finding.standing == "ours" else _work(record)
            if finding.standing != "post hoc" and finding.verdict != "shown":
                found.setdefault((work, finding.claim.split()[0]), []).append((finding.verdict, finding.standing))
    return found


def _work(record: FindingsRecord) -> str:
    return next(work for work in _WORKS if record.source.startswith(work))


def totals(records: Mapping[str, FindingsRecord]) -> str:
    """How many claims have which verdict, by work: the worst of a claim's readings, and the best.

    In brackets stand those of them whose verdict is a test of a published claim by published data; ours are none.
    """
    claims, rows = _claims(records), []
    for name, chosen in (("worst", worst), ("best", best)):
        counts, tests = Counter[tuple[str, Verdict]](), Counter[tuple[str, Verdict]]()
        for (work, _), judged in claims.items():
            verdict = chosen(verdict for verdict, _ in judged)
            counts[work, verdict] += 1
            tests[work, verdict] += (verdict, "") in judged
        for work in _WORKS:
            numbers = [_counted(work, verdict, counts[work, verdict], tests[work, verdict]) for verdict in _COUNTED]
            n_claims = sum(counts[work, verdict] for verdict in _COUNTED)
            rows += [[work, name, *numbers, str(n_claims)]] if n_claims else []
    return "\n".join(_table(("work", "reading", *_COUNTED, "claims"), rows)) + "\n"


_COUNTED = tuple(verdict for verdict in reversed(VERDICTS) if verdict != "shown")


def _counted(work: str, verdict: Verdict, n: int, n_tests: int) -> str:
    is_told = n and verdict not in SILENT and work != _OURS
    return f"{n} ({n_tests})" if is_told else str(n)


def standings(records: Mapping[str, FindingsRecord]) -> str:
    """What verdicts that test no published claim by published data are worth, and which these are."""
    lines = []
    for standing, meaning in STANDINGS.items():
        places = dict.fromkeys(_with_standing(standing, records.values()))
        if places:
            lines.append(f"- *{standing}*: {meaning}. {'; '.join(places)}.")
    return "\n".join(lines) + "\n"


def _with_standing(standing: str, records: Iterable[FindingsRecord]) -> Iterator[str]:
    """Claims with verdicts of a standing, and their experiments."""
    for record in records:
        judged = [finding for finding in record.findings if finding.verdict not in SILENT]
        claims = ", ".join(finding.claim for finding in judged if finding.standing == standing)
        if claims:
            yield f"{claims} in `{record.id}`"


def check_places(page: str, names: Iterable[str]) -> None:
    """InputError unless a page has a part for each of some experiments."""
    raise_if_any(_homeless(page, names))


def filled(page: str, records: Mapping[str, FindingsRecord]) -> str:
    """The page with its parts written from records; parts without a record stay; InputError for homeless records."""
    parts = {**{name: section_of(record) for name, record in records.items()}, TOTALS: totals(records)}
    parts[STANDINGS_PART] = standings(records)
    check_places(page, records)
    return _PART.sub(lambda part: f"{part[1]}{parts[part[2]]}{part[3]}" if part[2] in parts else part[0], page)


def unfilled(page: str, records: Mapping[str, FindingsRecord]) -> list[str]:
    """The experiments of a page that have no record."""
    return [name for _, name, _ in _PART.findall(page) if name not in (TOTALS, STANDINGS_PART, *records)]


def _homeless(page: str, experiments: Iterable[str]) -> Iterator[Problem]:
    names = {name for _, name, _ in _PART.findall(page)}
    for name in experiments:
        if name not in names:
            advice = f"put `<!-- findings {name} -->` and `<!-- end -->` where its table belongs"
            yield Problem("the page", f"has no part for {name}", "must have one for every experiment", advice)
