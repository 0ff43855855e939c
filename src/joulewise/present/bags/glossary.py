"""The words a reader of a report on bags of tasks needs, one meaning each."""

from __future__ import annotations

from joulewise.present.glossary import KNEE, STATISTICS, trial_of

_BAG = {
    "Bag": "Tasks that are all there at once, counted by task type.",
    "Makespan": "The time until the last machine is done.",
    "Energy": (
        "What all machines use from the start until the makespan; a machine that is done draws its idle power, or "
        "nothing where machines are switched off when done."
    ),
    "Allocation": "Which machine runs which tasks, and in which P-state.",
    "Front": "Allocations of which none is beaten by another in both energy and makespan.",
    "Proven bound": (
        "What tasks that may be split at will, on machines of a type taken together, could reach (a linear program). "
        "No allocation is better, and `joulewise verify` checks the proof."
    ),
    "Knee": KNEE,
    "Trial": trial_of("methods"),
    **STATISTICS,
}
FRONT = _BAG | {
    "Hypervolume": (
        "The area between a front and a reference point that is worse than all of it (1.1 times the worst of "
        "either objective on the bound), in percent of the same area of the proven bound."
    ),
    "Distance to the bound": "How much more energy a point uses than is proven to be needed for its makespan.",
    "Variation": "Standard deviation over machines divided by their mean: 0 where all are alike.",
}
PROFIT = _BAG | {
    "Profit per second": "The price of the bag less the cost of running it, divided by the makespan.",
    "Profit ratio": "The price of the bag divided by the least that its energy can cost.",
    "Distance to the bound": "How far the profit per second lies below the most that is proven possible.",
}
PRICING = {
    "Customer": "Somebody who comes with a bag, is asked for a price, and buys or does not.",
    "Worth": "What a bag done at once is worth to its customer; time until it is done takes some of it away.",
    "Backlog": "The time that machines need for all bags that are sold and not done.",
    "Profit": "The prices paid, less what the energy above idle costs at the hours at which it is used.",
    "Profit ratio": "A fixed price divided by the least that the energy of a bag costs at the mean tariff.",
    "Worths known": (
        "What no price, order or schedule earns more than, even with the worth of every bag known beforehand. It is "
        "proven for each trial, and `joulewise verify` checks the proof."
    ),
    "Worths unseen": (
        "What no prices earn more than on average that are made without seeing what the bag is worth to the customer."
    ),
    **{word: _BAG[word] for word in ("Bag", "Makespan", "Allocation", "Trial")},
    **STATISTICS,
}
