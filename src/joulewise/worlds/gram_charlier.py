"""Many task types that are like a few measured ones, by the Gram-Charlier expansion (Friese 5.3.4.2).

The mean, variance, skewness S and kurtosis K of a few values are those of a population (divided by n, not n - 1): of
five values, unbiased estimates of S and K would say little more. The expansion of type A,
phi(z) (1 + S/6 He3(z) + (K - 3)/24 He4(z)), is no density where it is negative, and times and powers are above 0.
So it is set to 0 where it is negative or below a tenth of the least value, and its place and width are then chosen
anew so that mean and variance are kept. S and K of what is left differ from those asked for as far as they must;
`expansion_report` says by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats
from joulewise.rng import generator
from joulewise.worlds.heterogeneity import moments

LEAST_VALUE = 0.1
"""No drawn value is far below this part of the least value that was given."""

_REACH = 8.0
"""Standard deviations beyond the mean at which the density ends."""
_N_CELLS = 4096
_MAX_STEPS = 500
_TOLERANCE = 1e-10
_WIDTHS = (0.05, 4.0)
_PLACES = (-4.0, 4.0)
"""How far width and place may move, in standard deviations, to make up for what is cut off."""


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
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        mean = float(self.mass @ middle)
        deviation = float(np.sqrt(self.mass @ (middle - mean) ** 2))
        if deviation == 0:
            return mean, 0.0, float("nan"), float("nan")
        standard = (middle - mean) / deviation
        return mean, deviation / mean, float(self.mass @ standard**3), float(self.mass @ standard**4)


def gram_charlier(values: Floats) -> Density:
    """The density of values above 0 that are like these; all of it at one value when they are all the same."""
    mean, cov, skewness, kurtosis = moments(values)
    if cov == 0:
        return Density(np.array([mean, mean]), np.ones(1))
    deviation = cov * mean
    edges = np.linspace(LEAST_VALUE * values.min(), mean + _REACH * deviation, _N_CELLS + 1)
    standard = ((edges[1:] + edges[:-1]) / 2 - mean) / deviation
    mass = _fitted_mass(standard, skewness, kurtosis)
    density = Density(edges, mass)
    return Density(edges * (mean / density.moments()[0]), mass)


def _fitted_mass(standard: Floats, skewness: float, kurtosis: float) -> Floats:
    """The mass of cells at these places, moved and widened until its mean is 0 and its deviation 1, or nearly so."""
    place, width = 0.0, 1.0
    mass = _mass((standard - place) / width, skewness, kurtosis)
    for _ in range(_MAX_STEPS):
        mean = float(mass @ standard)
        deviation = float(np.sqrt(mass @ (standard - mean) ** 2))
        if max(abs(mean), abs(deviation - 1)) < _TOLERANCE:
            break
        place = float(np.clip(place - mean, *_PLACES))
        width = float(np.clip(width / deviation, *_WIDTHS))
        mass = _mass((standard - place) / width, skewness, kurtosis)
    return mass


def _mass(z: Floats, skewness: float, kurtosis: float) -> Floats:
    """What the expansion gives to each cell: nothing where it is negative, 1 in all."""
    third, fourth = z**3 - 3 * z, z**4 - 6 * z**2 + 3
    density = np.exp(-(z**2) / 2) * np.maximum(1 + skewness / 6 * third + (kurtosis - 3) / 24 * fourth, 0.0)
    return np.asarray(density / density.sum())


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
        {"of": name, "when": when, **dict(zip(("mean", "cov", "skewness", "kurtosis"), found, strict=True))}
        for name, before, after in parts
        for when, found in (
            ("given", moments(before)),
            ("density", gram_charlier(before).moments()),
            ("after", moments(after)),
        )
    ]


def _parts(matrix: Floats) -> tuple[Floats, Floats]:
    """The means of the rows, and what each entry is over the mean of its row."""
    means = matrix.mean(axis=1)
    return means, matrix / means[:, None]
