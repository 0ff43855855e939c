"""Prices of machine time and energy that adapt by themselves: what is scarce becomes more expensive.

After every event the price of a kind of machine rises by a little while hardly any of them is idle, and falls faster
the more of them are; the price of energy follows whether power is drawn faster than what is left of the day's
budget allows. Here is how prices move and are noted; what tasks and jobs cost is theirs to say.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from joulewise.kernels.jit import inlined
from joulewise.kernels.records import record

MINUTE_S = 60.0


@record
class Gains(NamedTuple):
    """How fast prices move, per minute, in their logarithm.

    A machine type's price rises by `step` at most, stays while the share `idle` of its machines is idle, and falls by
    `fall` steps at most. The price of energy moves by `energy_step` at most; the power drawn is averaged over
    `memory_s`. At first machine time costs `first_part` of a mean task's worth, and energy `first_energy_part`. Each
    price has an anchor that follows it over `anchor_s` while what it is for runs short: after quiet hours a price below
    half of its anchor returns `hurry` times as fast, and it never falls below the anchor divided by `depth`.
    """

    step: float = 0.005
    idle: float = 0.03
    fall: float = 4.0
    energy_step: float = 0.02
    memory_s: float = 600.0
    first_part: float = 0.5
    first_energy_part: float = 0.25
    anchor_s: float = 21_600.0
    hurry: float = 10.0
    depth: float = 50.0


@inlined
def record_prices(prices, event):
    """Note the prices of an event, from 1 on."""
    if 0 < event <= prices.path.shape[0]:
        for k in range(prices.per_s.size):
            prices.path[event - 1, k] = max(prices.per_s[k], 0.0)
        prices.path[event - 1, prices.per_s.size] = prices.per_j[0]


@inlined
def move(price, anchor, k, gains, most, step, minutes):
    """Move a price by a part of the most it moves in this time, up or down; its anchor follows while it is short."""
    is_low = 2.0 * price[k] < anchor[k]
    if step > 0.0 and is_low:
        step *= gains.hurry
    price[k] = max(price[k] * math.exp(most * step), anchor[k] / gains.depth)
    if step > 0.0 and not is_low:
        anchor[k] *= (price[k] / anchor[k]) ** min(minutes * MINUTE_S / gains.anchor_s, 1.0)


@inlined
def move_time_price(prices, k, idle, minutes):
    """Move the price of machine time by the share of its machines that is idle."""
    gains = prices.gains
    step = max(-gains.fall, (gains.idle - idle) / gains.idle)
    move(prices.per_s, prices.anchor_per_s, k, gains, gains.step * minutes, step, minutes)


@inlined
def move_energy_price(prices, drawn_w, left_j, left_s, minutes):
    """Move the price of energy by how fast power is drawn, over what is left of the day."""
    gains = prices.gains
    kept = math.exp(-minutes * MINUTE_S / gains.memory_s) if prices.mean_w[0] >= 0.0 else 0.0
    prices.mean_w[0] = kept * prices.mean_w[0] + (1.0 - kept) * drawn_w
    excess = prices.mean_w[0] * left_s / left_j - 1.0 if left_j > 0.0 else 1.0
    step = min(max(excess, -1.0), 1.0)
    if prices.per_j[0] > 0.0:
        move(prices.per_j, prices.anchor_per_j, 0, gains, gains.energy_step * minutes, step, minutes)
