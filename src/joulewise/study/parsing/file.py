"""Study files: TOML in, every problem at once or a study with all its points out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.files import toml_of
from joulewise.study.kinds.keeping import FirstWorlds
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.systems import installed, kind_at, section_names
from joulewise.study.parsing import sweep
from joulewise.study.parsing.combinations import (
    Combination,
    Parts,
    axes_of,
    candidates_of,
    key_as_written,
    n_points_of,
    points_of,
)
from joulewise.study.parsing.ranges import draw, is_range, range_of
from joulewise.study.parsing.sources import source_of
from joulewise.study.parsing.study import MAX_RUNS, VARIANT, Heading, Study
from joulewise.study.spec import parameters
from joulewise.study.spec.parts import Part
from joulewise.study.spec.report import REPORT, Shown
from joulewise.study.spec.source import GOAL, SUPPLY, SYSTEM, WORKLOAD, Draw, Section, Source
from joulewise.study.spec.trials import TUNE, Until, until_of
from joulewise.study.spec.tuning import Tuning
from joulewise.study.store.store import Store

_TRIALS, _SAMPLES = "trials", "samples"
Aside = TypeVar("Aside", Tuning, Shown)


def read_study(path: Path | str) -> Study:
    """The study in a TOML file; InputError with every problem of it and of the files it names."""
    path = Path(path)
    return parse_study(read_source(path), path.name, path.parent, check_inputs=True)


def read_source(path: Path, advice: str = "`joulewise new` writes one to start from") -> str:
    """The text of a study file; InputError when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is not UTF-8 text"
        raise InputError(Problem(str(path), found, "a study is a TOML file in UTF-8")) from None
    except OSError as error:
        found = f"cannot be read: {error.strerror or error}"
        raise InputError(_results_problem(path) or Problem(str(path), found, advice=advice)) from None


def _results_problem(path: Path) -> Problem | None:
    """What to say where results were given in place of their study; None where they were not."""
    store = Store(path)
    if (place := store.study_place) is None:
        return None
    advice = f"its study is {place}, and a copy is {store.study_file}; `joulewise report {path}` shows what came out"
    return Problem(str(path), "is a folder of results", "must be a study file", advice)


def parse_study(
    source: str,
    file_name: str,
    folder: Path,
    *,
    check_inputs: bool = False,
    judge: Callable[[Part], Iterable[Problem]] = lambda _part: (),
) -> Study:
    """The study that a text gives; `file_name` is what problems call it, `folder` holds the files it names.

    With `check_inputs`, policies are looked up and tables are read as well, unless `judge` finds a problem in a
    section: what may not be looked at is refused there.
    """
    raw = toml_of(source, file_name)
    _refuse_plans(raw, file_name)
    parsed = _ParsedFile(raw, file_name, _section_names(raw))
    heading = parsed.heading
    combinations = [parsed.combination(variant) for variant in parsed.variants()]
    parsed.check_kinds(combinations)
    parsed.check_samples()
    axes = axes_of(combinations)
    tuning, shown = parsed.tuning(combinations, axes), parsed.aside(REPORT, Shown)
    parsed.problems += (refused := _refused(combinations, judge))
    if parsed.has_sane_size(combinations, heading, tuning) and check_inputs and not refused:
        seed, trials = (heading.seed, heading.trials) if heading else (0, 1)
        parsed.check_inputs(combinations, Draw(seed, 0, folder), trials)
    parsed.problems += [*_idle_looks(combinations, parsed), *_unclear_best(combinations, tuning, file_name)]
    raise_if_any(dict.fromkeys(parsed.problems))
    assert heading is not None
    points = itertools.chain.from_iterable(map(points_of, combinations))
    kind, warnings = combinations[0].kind, tuple(dict.fromkeys(parsed.warnings))
    return Study(
        kind,
        heading,
        tuple(points),
        axes,
        source,
        file_name,
        folder,
        warnings,
        parsed.until,
        tuning,
        shown or Shown(),
    )


def _refused(combinations: Iterable[Combination], judge: Callable[[Part], Iterable[Problem]]) -> list[Problem]:
    """The problems that a judge finds in sections, each judged once."""
    values = (part for combination in combinations for parts in combination.sections.values() for part in parts.values)
    return [problem for part in dict.fromkeys(values) for problem in judge(part)]


def _refuse_plans(raw: Mapping[str, Any], file_name: str) -> None:
    """InputError where a file is a plan of the laboratory, whose keys would all be wrong here."""
    if _OF_PLANS & raw.keys() and not raw.keys() & set(section_names()):
        advice = "run it with `joulewise measure`; `joulewise new` writes a study to start from"
        raise InputError(Problem(file_name, "found a plan of the laboratory", "must be a study", advice))


_OF_PLANS = {"program", "synthetic"}
"""What plans of the laboratory have, and studies never."""

_OF_WORLDS = (SYSTEM, WORKLOAD, SUPPLY)
"""The sections that say what there is; others decide."""


@dataclass
class _ParsedFile:
    """A parsed file while its problems are being collected."""

    raw: Mapping[str, Any]
    file_name: str
    section_names: tuple[str, ...]
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    has_ranges: bool = False

    @cached_property
    def until(self) -> Until | None:
        """When trials stop by themselves, if they do."""
        trials = self.raw.get(_TRIALS)
        where = f"{self.file_name}: {_TRIALS}"
        return self._collect(lambda: until_of(trials, where)) if isinstance(trials, str) else None

    @cached_property
    def heading(self) -> Heading | None:
        """The heading; unknown keys at the top of the file are reported here."""
        below = (*self.section_names, VARIANT, TUNE, REPORT)
        own = {key: value for key, value in self.raw.items() if key not in below}
        unknown = [key for key in own if key not in parameters.hints_of(Heading)]
        for key in unknown:
            choices = [*parameters.hints_of(Heading), *below]
            self.problems.append(_no_such_key(f"{self.file_name}: {key}", key, choices))
            del own[key]
        if unknown:
            self.problems += installed().problems
        if isinstance(own.get(_TRIALS), str):
            del own[_TRIALS]
            own |= {_TRIALS: self.until.most} if self.until else {}
        heading, problems = parameters.read(Heading, own, lambda key: f"{self.file_name}: {key}")
        self.problems += problems
        return cast(Heading | None, heading)

    def variants(self) -> Iterator[Mapping[str, Any] | None]:
        """The variants of the file, or None once when it has none."""
        variants = self.raw.get(VARIANT)
        if variants is None:
            yield None
            return
        if variants and isinstance(variants, list) and all(isinstance(variant, dict) for variant in variants):
            yield from self._checked(variants)
        else:
            where = f"{self.file_name}: variant"
            self.problems.append(Problem(where, "found no list of tables", "must be written as [[variant]]"))

    def _checked(self, variants: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        seen: set[str] = set()
        for i, variant in enumerate(variants):
            where = f"{self.file_name}: variant[{i}]"
            name = variant.get("name")
            if not isinstance(name, str) or not name.strip():
                self.problems.append(Problem(f"{where}.name", f"found {name!r}", "must be a name"))
            elif name in seen:
                self.problems.append(Problem(f"{where}.name", f"found {name!r} twice", "names must differ"))
            for key in variant.keys() - {"name", *self.section_names}:
                self.problems.append(_no_such_key(f"{where}.{key}", key, ["name", *self.section_names]))
            seen.add(str(name))
            yield variant

    def combination(self, variant: Mapping[str, Any] | None) -> Combination:
        """The sections with a variant laid over them."""
        name = None if variant is None else str(variant.get("name"))
        kind = self._kind(variant or {})
        parts = {section.name: self._section(section, variant or {}, name) for section in kind.sections()}
        return Combination(name, kind, parts)

    def _kind(self, variant: Mapping[str, Any]) -> Kind:
        """The kind of study that the section which decides makes it; where that is not clear, the nearest one."""
        section = [*self._deciding(), self._deciding_names()[0]][0]
        said = [place.get(section) for place in (variant, self.raw)]
        goals = [values[GOAL] for values in said if isinstance(values, dict) and GOAL in values]
        return kind_at(section, goals[0] if goals else "")

    def _deciding_names(self) -> list[str]:
        return [name for name in self.section_names if name not in _OF_WORLDS]

    def _deciding(self) -> list[str]:
        """The sections of the file, variants included, that say how decisions are made."""
        variants = self.raw.get(VARIANT)
        places = [self.raw, *(variants if isinstance(variants, list) else [])]
        deciding = self._deciding_names()
        return [name for name in deciding if any(isinstance(place, dict) and name in place for place in places)]

    def check_kinds(self, combinations: list[Combination]) -> None:
        """A study is of one kind, so that its runs can be compared."""
        deciding, kinds = self._deciding(), dict.fromkeys(found.kind.name for found in combinations)
        if len(deciding) > 1:
            found = f"found {' and '.join(f'[{name}]' for name in deciding)}"
            allowed, advice = "a study has one of them", "make two studies of it"
            self.problems.append(Problem(self.file_name, found, allowed, advice))
        elif len(kinds) > 1:
            where = f"{self.file_name}: {combinations[0].kind.section.name}"
            found = f"found variants of the kinds {' and '.join(kinds)}"
            self.problems.append(Problem(where, found, "a study is of one kind", "make two studies of it"))

    def aside(self, name: str, owner: type[Aside]) -> Aside | None:
        """A section that is no part of any point, as the file has it or by default; None where something is wrong."""
        place, given = f"{self.file_name}: {name}", self.raw.get(name, {})
        if not isinstance(given, dict):
            self.problems.append(Problem(place, "found a value", f"must be a section, [{name}]"))
            return None
        found, problems = parameters.read(owner, given, lambda key: f"{place}.{key}")
        self.problems += problems
        return cast(Aside | None, found)

    def tuning(self, combinations: list[Combination], axes: Sequence[str]) -> Tuning | None:
        """What is tuned, and how, if anything is; keys are swept columns."""
        if TUNE not in self.raw or not combinations:
            return None
        place, found = f"{self.file_name}: {TUNE}", self.aside(TUNE, Tuning)
        if found is None:
            return None
        kind, swept = combinations[0].kind, {key_as_written(combinations, axis): axis for axis in axes}
        own = [axis for axis in axes if axis.startswith(f"{kind.section.name}.") and axis != kind.main_axis]
        self.problems += _misfits(found, place, kind, swept, own)
        return replace(found, keys=tuple(swept[key] for key in found.keys if key in swept) or tuple(own))

    def check_samples(self) -> None:
        """Samples are drawn from ranges."""
        if self.heading and self.heading.samples and not self.has_ranges:
            found, allowed = f"found {self.heading.samples:,}", "nothing in this study is a range to draw them from"
            advice = "give a key a range, such as { from = 1.0, to = 4.0 }"
            self.problems.append(Problem(f"{self.file_name}: {_SAMPLES}", found, allowed, advice))

    def has_sane_size(self, combinations: list[Combination], heading: Heading | None, tuning: Tuning | None) -> bool:
        """Whether the study has no more runs than anyone can want; a problem if it has."""
        n_points = sum(n_points_of(combination) for combination in combinations)
        n_trials = heading.trials if heading else 1
        n_runs = tuning.n_runs(n_points) + n_trials if tuning else n_points * n_trials
        if n_runs > MAX_RUNS:
            found = f"found {n_points:,} points and so {n_runs:,} runs"
            self.problems.append(Problem(self.file_name, found, f"a study may have {MAX_RUNS:,} at most"))
        return n_runs <= MAX_RUNS

    def check_inputs(self, combinations: list[Combination], draw: Draw, trials: int) -> None:
        """Hold what the sections ask for against each other, against the files they name and the first trial."""
        wrong = {_key_at(problem) for problem in self.problems}  # what is wrong is not missed as well
        n_before = len(self.problems)
        for kind in dict.fromkeys(found.kind for found in combinations):
            worlds = FirstWorlds(kind, draw)
            asked = candidates_of([found for found in combinations if found.kind == kind], trials, worlds.of)
            for check in kind.checks(asked, draw):
                self._collect(check)
            self.warnings += map(self._in_file, kind.warnings(asked, draw))
        self.problems[n_before:] = [found for found in self.problems[n_before:] if _key_at(found) not in wrong]

    def _section(self, section: Section, variant: Mapping[str, Any], name: str | None) -> Parts:
        base, override = self.raw.get(section.name, {}), variant.get(section.name, {})
        if not isinstance(base, dict) or not isinstance(override, dict):
            prefix = f"variant {name!r}: " if isinstance(base, dict) else ""
            where = f"{self.file_name}: {prefix}{section.name}"
            self.problems.append(Problem(where, "found a value", f"must be a section, [{section.name}]"))
            return Parts([], [], 0)
        keys = (section.selector, section.tables)
        merged = sweep.lay_over(base, override, *keys)
        own = merged if name and sweep.changes_source(base, override, *keys) else override

        def where_of(key: str) -> str:
            prefix = f"variant {name!r}: " if name and _name_of(key) in own else ""
            return f"{self.file_name}: {prefix}{section.name}" + (f".{key}" if key else "")

        source = self._collect(lambda: source_of(section, merged, where_of))
        if source is None:
            return Parts([], [], 0)
        plain = {key: value for key, value in merged.items() if key != section.selector}
        return self._expand(section, source, plain, where_of)

    def _expand(self, section: Section, source: Source, raw: sweep.Raw, where_of: parameters.Where) -> Parts:
        hints = parameters.hints_of(source.parameters)
        columns = parameters.fields_by_key(source.parameters)
        depths = {key: parameters.list_depths(hints[name]) for key, name in columns.items()}
        swept = [axis for axis in sweep.axes(raw, depths) if axis.key in columns]
        ranged = [key for key in raw if key in columns and is_range(raw[key], hints[columns[key]])]
        several = {*ranged, *(axis.key for axis in swept)}
        names = [f"{section.name}.{columns[key]}" for key in raw if key in several]
        for axis in swept:
            if not axis.values:
                empty = Problem(where_of(axis.key), "found an empty list", "a sweep needs at least one value")
                self.problems.append(empty)
        n_points = sweep.n_points(swept)
        if n_points == 0:
            return Parts([], names, 0)
        if not ranged:
            return Parts(self._grid(section, source, raw, swept, where_of), names, n_points)
        samples, sampled = self._drawn(section, source, raw, ranged, where_of), list[list[Part]]()
        for drawn in samples:
            before = len(self.problems)
            sampled.append(self._grid(section, source, {**raw, **drawn}, swept, where_of))
            if len(self.problems) > before:  # others would say the same of other values
                return Parts(sampled[-1], names, n_points)
        if not samples:
            self._check_rest(section, source, raw, ranged, where_of)
        values = list(dict.fromkeys(itertools.chain.from_iterable(sampled)))
        return Parts(values, names, n_points, sampled)

    def _check_rest(
        self, section: Section, source: Source, raw: sweep.Raw, ranged: list[str], where_of: parameters.Where
    ) -> None:
        """Find what is wrong in a section beside its ranges."""
        n_before, missed = len(self.problems), {where_of(key) for key in ranged}
        self._expand(section, source, {key: value for key, value in raw.items() if key not in ranged}, where_of)
        self.problems[n_before:] = [found for found in self.problems[n_before:] if found.where not in missed]

    def _drawn(
        self, section: Section, source: Source, raw: sweep.Raw, ranged: list[str], where_of: parameters.Where
    ) -> list[dict[str, Any]]:
        """The values of each sample of the keys with a range; none where these are wrong."""
        self.has_ranges = True
        owner, n_before = source.parameters, len(self.problems)
        ranges = {key: self._collect(partial(range_of, owner, raw, key, where_of)) for key in ranged}
        if _SAMPLES not in self.raw:
            advice = "write samples = 50, or another number, at the top of the file"
            allowed = "needs to be told how many samples are drawn"
            self.problems += [Problem(where_of(key), "found a range", allowed, advice) for key in ranged]
        if len(self.problems) > n_before or self.heading is None or not self.heading.samples:
            return []
        return draw(ranges, section.name, self.heading.seed, self.heading.samples)

    def _grid(
        self,
        section: Section,
        source: Source,
        raw: sweep.Raw,
        swept: list[sweep.Axis],
        where_of: parameters.Where,
    ) -> list[Part]:
        """The section with every combination of swept values, each once."""
        n_points, before = sweep.n_points(swept), len(self.problems)
        parts = self._one_at_a_time(section, source, raw, swept, where_of)
        if n_points <= MAX_RUNS and len(self.problems) == before:
            parts = list(self._product(section, source, raw, swept, where_of))
        return list(dict.fromkeys(part for part in parts if part is not None))

    def _one_at_a_time(
        self, section: Section, source: Source, raw: sweep.Raw, swept: list[sweep.Axis], where_of: parameters.Where
    ) -> list[Part | None]:
        """Parts in which every swept value occurs, so that each is judged without making the product."""

        def part(point: sweep.Raw, position: Mapping[str, int]) -> Part | None:
            def where(key: str) -> str:
                name = _name_of(key)
                index = f"[{position[name]}]" if name in position else ""
                return where_of(f"{name}{index}{key.removeprefix(name)}")

            return self._part(section, source, point, where)

        return [part(point, position) for point, position in sweep.one_at_a_time(raw, swept)]

    def _product(
        self, section: Section, source: Source, raw: sweep.Raw, swept: list[sweep.Axis], where_of: parameters.Where
    ) -> Iterator[Part | None]:
        """A part for every combination of swept values that are valid by themselves: each of them is read once."""
        valid = _values_of(source.parameters, raw, swept)
        for point, values in zip(sweep.product(raw, swept), sweep.product(*valid), strict=True):
            yield self._noted(section, source, parameters.made(source.parameters, values, point, where_of))

    def _part(self, section: Section, source: Source, raw: sweep.Raw, where_of: parameters.Where) -> Part | None:
        return self._noted(section, source, parameters.read(source.parameters, raw, where_of))

    def _noted(self, section: Section, source: Source, found: tuple[Any, list[Problem]]) -> Part | None:
        values, problems = found
        self.problems += problems
        return None if values is None else Part(section.name, source.name, values, section.selector)

    def _collect(self, attempt: Callable[[], Any]) -> Any:
        try:
            return attempt()
        except InputError as error:
            self.problems.extend(self._in_file(problem) for problem in error.problems)
            return None

    def _in_file(self, problem: Problem) -> Problem:
        """The problem with the file's name before the key, where the key alone is named."""
        is_key = problem.where.partition(".")[0] in self.section_names
        return replace(problem, where=f"{self.file_name}: {problem.where}") if is_key else problem


def _idle_looks(combinations: Iterable[Combination], parsed: _ParsedFile) -> Iterator[Problem]:
    """Trials that would stop when enough is known, of which more tell no more."""
    workloads = ((found.kind, part) for found in combinations for part in found.sections[WORKLOAD].values)
    if parsed.until and any(kind.resamples(part) for kind, part in workloads):
        where, found = f"{parsed.file_name}: {_TRIALS}", f'found "{parsed.until}" and resamples of one sample'
        yield Problem(where, found, "must be a whole number, as more resamples tell no more", "such as trials = 50")


def _unclear_best(combinations: Iterable[Combination], tuning: Tuning | None, file_name: str) -> Iterator[Problem]:
    """That tuning does not say by what, where less of what is shown first is better."""
    for found in combinations if tuning and not tuning.metric else ():
        first = next(iter(found.kind.shown(found.sections[WORKLOAD].values)), None)
        if first is not None and first.least_is_best:
            said, advice = f"found no metric, and {first.name} is shown first", 'give metric, and best = "lowest"'
            yield Problem(f"{file_name}: {TUNE}", said, "must have metric and best", advice)


def _misfits(tuning: Tuning, place: str, kind: Kind, swept: Mapping[str, str], own: Sequence[str]) -> Iterator[Problem]:
    """What does not hold of a section that tunes, in a study of this kind with these swept keys."""
    for key in tuning.keys:
        if key not in swept:
            problem = unknown_name(f"{place}.keys", key, swept)
            advice = f"only what has several values can be tuned: give it several, or a range; {problem.advice}"
            yield replace(problem, advice=advice.rstrip("; "))
    if not tuning.keys and not own:
        found = f"found no swept key of [{kind.section.name}] but {kind.main}"
        yield Problem(place, found, "must have something to tune", "give a key several values, or name keys")
    columns = {column.name: column for column in kind.all_columns() if column.is_metric}
    measured = [name for name, column in columns.items() if column.is_measured]
    if tuning.metric in measured:
        allowed = "must come out the same on any machine"
        yield Problem(f"{place}.metric", f"found {tuning.metric!r}, which measures the computer", allowed)
    elif tuning.metric and not any(fnmatchcase(tuning.metric, name) for name in columns):
        yield unknown_name(f"{place}.metric", tuning.metric, [name for name in columns if name not in measured])
    elif not tuning.metric and not kind.has_best:
        yield Problem(place, f"found no metric, and {kind.title} is not what is best", "must have metric and best")


def _section_names(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of sections, those of installed packages too where the file has keys that nobody here knows."""
    variants = raw.get(VARIANT)
    places = [raw, *(place for place in (variants if isinstance(variants, list) else []) if isinstance(place, dict))]
    keys = {key for place in places for key in place} - {VARIANT, TUNE, REPORT, *parameters.hints_of(Heading)}
    return section_names(keys)


def _values_of(owner: type, raw: sweep.Raw, swept: list[sweep.Axis]) -> tuple[dict[str, Any], list[sweep.Axis]]:
    """The fields of a section and the swept ones, read as if they stood in its first point, where all are valid."""
    first, fields = next(sweep.product(raw, swept)), parameters.fields_by_key(owner)

    def axis_of(axis: sweep.Axis) -> sweep.Axis:
        name = fields[axis.key]
        values = (parameters.values_of(owner, {**first, axis.key: value})[name] for value in axis.values)
        return sweep.Axis(name, tuple(values))

    return parameters.values_of(owner, first), list(map(axis_of, swept))


def _key_at(problem: Problem) -> str:
    """The key that a problem is at, without the number of a swept value."""
    return re.sub(r"\[\d+\]", "", problem.where).rpartition(": ")[2]


def _name_of(place: str) -> str:
    """The key that a place such as "leniency[1]" or "class_thresholds.special" belongs to."""
    return re.split(r"[.\[]", place, maxsplit=1)[0]


def _no_such_key(where: str, key: str, choices: list[str]) -> Problem:
    problem = unknown_name(where, key, choices)
    return Problem(where, "there is no such key", problem.allowed, problem.advice)
