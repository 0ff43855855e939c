"""Many task types that are like a few measured ones, by the Gram-Charlier expansion (Friese 5.3.4.2).

The mean, variance, skewness S and kurtosis K of a few values are those of a population (divided by n, not n - 1).
The expansion of type A, phi(z) (1 + S/6 He3(z) + (K - 3)/24 He4(z)), is no density where it is negative, and times and
powers are above 0. So it is set to 0 where it is negative or below a tenth of the least value, and made 1 in all again.
That would change all four moments; place, width and the two coefficients are therefore chosen again, by least squares,
so that what is left has the moments asked for, as nearly as a density of this form can (the mean exactly). An expansion
that is a density already stays as it is. `expansion_report` says what was asked for and what was got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats
from joulewise.rng import generator
from joulewise.worlds.heterogeneity import moments

LEAST_VALUE = 0.1
"""No drawn value is far below this part of the least value that was given."""

_REACH = 8.0
"""Standard deviations from the mean at which the density ends."""
_N_CELLS = 1024
_LOW = np.array([-4.0, 0.2, -20.0, -60.0])
_HIGH = np.array([4.0, 4.0, 20.0, 100.0])
"""Limits of place and width, in standard deviations, and of S and K as coefficients."""
_WEIGHTS = np.array([10.0, 10.0, 1.0, 1.0])
"""How much mean, deviation, skewness and kurtosis count where not all can be kept."""
_MAX_STEPS = 100


@dataclass(frozen=True, eq=False)
class Density:
    """A density that is constant in cells: their `edges`, and the part of all draws that falls into each."""

    edges: Floats
    mass: Floats

    def sample(self, stream: np.random.Generator, n: int) -> Floats:
        """Draws from the density; one uniform number is used for each, so that more draws begin with the same."""
        cumulative = np.concatenate(([0.0], np.cumsum(self.mass)))
        return np.asarray(np.interp(stream.random(n) * cumulative[-1], cumulative, self.edges))

    def moments(self) -> tuple[float, float, float, float]:
        """Mean, coefficient of variation, skewness and kurtosis; the last two are NaN for a constant."""
        mean, deviation, skewness, kurtosis = _moments_of(self.mass, (self.edges[1:] + self.edges[:-1]) / 2).tolist()
        if deviation == 0:
            return mean, 0.0, float("nan"), float("nan")
        return mean, deviation / mean, skewness, kurtosis


def gram_charlier(values: Floats) -> Density:
    """The density of values above 0 that are like these; all of it at one value when they are all the same."""
    return _density(tuple(values.tolist()))


@lru_cache(maxsize=256)
def _density(given: tuple[float, ...]) -> Density:
    """The density of the given values, kept because every trial of a study asks for the same ones."""
    values = np.array(given)
    mean, cov, skewness, kurtosis = moments(values)
    if cov == 0:
        return Density(np.array([mean, mean]), np.ones(1))
    deviation = cov * mean
    least = max(LEAST_VALUE * float(values.min()), mean - _REACH * deviation)
    edges = np.linspace(least, mean + _REACH * deviation, _N_CELLS + 1)
    mass = _fitted_mass(((edges[1:] + edges[:-1]) / 2 - mean) / deviation, skewness, kurtosis)
    return Density(edges * (mean / Density(edges, mass).moments()[0]), mass)


def _fitted_mass(standard: Floats, skewness: float, kurtosis: float) -> Floats:
    """The mass of cells at these places, as near as can be to mean 0, deviation 1 and these two."""
    from scipy.optimize import least_squares

    wanted = np.array([0.0, 1.0, skewness, kurtosis])

    def misses(choice: Floats) -> Floats:
        return np.asarray(_WEIGHTS * (_moments_of(_mass(standard, choice), standard) - wanted))

    start = np.clip(wanted, _LOW, _HIGH)
    fit = least_squares(misses, start, bounds=(_LOW, _HIGH), max_nfev=_MAX_STEPS)
    return _mass(standard, fit.x)


def _mass(standard: Floats, choice: Floats) -> Floats:
    """What an expansion of this place, width, S and K gives to each cell: nothing where it is negative, 1 in all."""
    place, width, skewness, kurtosis = choice
    z = (standard - place) / width
    third, fourth = z**3 - 3 * z, z**4 - 6 * z**2 + 3
    series = np.maximum(1 + skewness / 6 * third + (kurtosis - 3) / 24 * fourth, 0.0)
    density = np.exp(-(z**2) / 2) * series + np.finfo(np.float64).tiny  # so that there is always something
    return np.asarray(density / density.sum())


def _moments_of(mass: Floats, at: Floats) -> Floats:
    """Mean, deviation, skewness and kurtosis of mass at these places."""
    mean = float(mass @ at)
    deviation = float(np.sqrt(mass @ (at - mean) ** 2))
    standard = (at - mean) / max(deviation, np.finfo(np.float64).tiny)
    return np.array([mean, deviation, mass @ standard**3, mass @ standard**4])


def expanded(matrix: Floats, n_rows: int, seed: int, *stream: str | int) -> Floats:
    """The matrix [task type, machine type] with further rows that are like its own, which come first and stay.

    The mean of a new row is drawn like those of the given rows; on each machine type, its ratio to that mean is
    drawn like the ratios there. More rows begin with the same rows. Raises InputError for a matrix with values
    that are not finite and above 0.
    """
    if not (np.isfinite(matrix) & (matrix > 0)).all():
        found = "found a task type that does not run everywhere"
        raise InputError(Problem("matrix", found, "only values above 0 on every machine type can be expanded"))
    means, ratios = _parts(matrix)
    n_new = n_rows - matrix.shape[0]
    new_means = gram_charlier(means).sample(generator(seed, *stream, "means"), n_new)
    new_ratios = [
        gram_charlier(column).sample(generator(seed, *stream, "ratios", machine_type), n_new)
        for machine_type, column in enumerate(ratios.T)
    ]
    return np.concatenate((matrix, new_means[:, None] * np.column_stack(new_ratios)))


def expansion_report(
    matrix: Floats, expanded_matrix: Floats, machine_types: Sequence[str]
) -> list[dict[str, str | float]]:
    """Mean, COV, skewness and kurtosis of row means, and of ratios by machine type: given, of the density, after.

    "after" is the whole expanded matrix, the given rows included.
    """
    (means, ratios), (new_means, new_ratios) = _parts(matrix), _parts(expanded_matrix)
    parts = [("row means", means, new_means)]
    parts += [(f"ratios on {machine_types[j]}", ratios[:, j], new_ratios[:, j]) for j in range(ratios.shape[1])]
    return [
        {"of": name, "when": when, **dict(zip(("mean", "cov", "skewness", "kurtosis"), values, strict=True))}
        for name, before, after in parts
        for when, values in (
            ("given", moments(before)),
            ("density", gram_charlier(before).moments()),
            ("after", moments(after)),
        )
    ]


def _parts(matrix: Floats) -> tuple[Floats, Floats]:
    """The means of the rows, and what each entry is over the mean of its row."""
    means = matrix.mean(axis=1)
    return means, matrix / means[:, None]
