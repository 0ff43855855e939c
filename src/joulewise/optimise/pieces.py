"""Tasks that may be preempted, and their answer to prices: a bound for whoever runs tasks, or jobs, in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from joulewise.kernels.pieces import Chosen, PiecePrices, Seconds, answer_in_pieces
from joulewise.kernels.prices import Answer
from joulewise.model.arrays import Counts, Floats
from joulewise.optimise.price_market import STAGES, Certificate, PriceBound, PriceMarket, Stage

_answer_in_pieces: Any = answer_in_pieces
_SMALL = 1e-9
_IN_PIECES = Stage(300.0, 8, 1, 0.05, 0.05)


class MarketInPieces(PriceMarket):
    """Tasks that need their time in seconds of one option, any of them; saving and restoring cost nothing."""

    def answer(self, certificate: Certificate, stride: int = 1) -> tuple[float, Answer]:
        """The sum of what tasks gain, and what they ask for; with a stride, scaled up from a part of them."""
        prices, period = self._slot_prices(certificate)
        n_slots, (gain, option, _) = prices.per_s.shape[1], self.choices
        slot, busy_s, energy_j = np.zeros(gain.size, np.int64), np.zeros_like(prices.per_s), np.zeros(period.max() + 2)
        room = (2, n_slots)
        seconds = Seconds(np.zeros(room, np.int64), np.zeros(room), np.zeros(room), np.zeros(2, np.int64))
        nothing = Chosen(gain[:0], option[:0], slot[:0], np.zeros((0, 0)), np.zeros(0))
        chosen = Chosen(gain, option, slot, busy_s, energy_j)
        gains = stride * float(_answer_in_pieces(chosen, self.facts, prices, seconds, nothing, period, 0, stride))
        energy_j = stride * energy_j[: self.budget_j.size]
        return gains, Answer(gain, option, self.choices[2], stride * busy_s, energy_j)

    def _slot_prices(self, certificate: Certificate) -> tuple[PiecePrices, Counts]:
        """Prices by slot, energy at what it costs least in there, and the energy period of each slot."""
        window, n_slots = self.facts.window, certificate.per_s.shape[1]
        edges_s = np.linspace(0.0, window.end_s, n_slots + 1)
        slack_s = _SMALL * window.end_s
        first, last = (edges_s[:-1] + slack_s, edges_s[1:] - slack_s)
        n_periods = certificate.per_j.size
        early, late = (
            np.clip(np.floor((at_s - window.start_s) / window.period_s), -1, n_periods - 1).astype(np.int64)
            for at_s in (first, last)
        )
        per_j = np.array(
            [0.0 if a < 0 else certificate.per_j[a : b + 1].min() for a, b in zip(early, late, strict=True)]
        )
        counts = (edges_s[1:] > window.start_s + slack_s) | (not window.is_prorated)
        least_s, least_j = (_least_from(prices) for prices in (certificate.per_s, per_j))
        slot_s = window.end_s / n_slots
        return PiecePrices(slot_s, certificate.per_s.copy(), per_j, least_s, least_j, counts), late


def bound_in_pieces(whole: PriceMarket) -> PriceBound:
    """The bound of tasks that run in pieces, from the prices of whole ones; by no prices where runs save energy."""
    market = MarketInPieces(whole.facts, whole.counts[:, 0], whole.budget_j, whole.idle_s)
    for_nothing = market.for_nothing()
    if (market.facts.runs.cost_w < 0).any():  # no second costs least where energy does
        return for_nothing
    certificate = market.improve(whole.search(STAGES).certificate, _IN_PIECES)
    return min(PriceBound(market.bound(certificate), certificate), for_nothing, key=lambda bound: bound.value)


def _least_from(prices: Floats) -> Floats:
    """The least price from each slot on."""
    return np.ascontiguousarray(np.minimum.accumulate(prices[..., ::-1], axis=-1)[..., ::-1])
