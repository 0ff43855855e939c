"""Five short lessons: each sets what is chosen and asks a question, and what one sees answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

State = Mapping[str, object]
"""What a lesson chooses, by the keys of the page; everything else is as usual."""


@dataclass(frozen=True)
class Lesson:
    """A lesson: what it is about, its question, where it begins, and further days to look at, each with its reason."""

    title: str
    idea: str
    question: str
    state: State
    tries: Sequence[tuple[str, State]]


_SCARCE: State = {"policy": "max-max-util", "beside": "", "tasks": 700, "budget": 30}

LESSONS: Mapping[str, Lesson] = {
    "order": Lesson(
        "Who goes first",
        "More tasks arrive than six machines can do in time, and the longer a task waits, the less it is worth. So "
        "somebody has to choose. One policy draws lots; the other takes, again and again, the task and the machine "
        "that earn most together.",
        "How much of what is possible does each of them earn? And does choosing well matter as much when there is "
        "little to do?",
        {"policy": "max-max-util", "beside": "random-batch", "tasks": 1000},
        [("Little to do", {"policy": "max-max-util", "beside": "random-batch", "tasks": 300}),
         ("In the order in which they came", {"policy": "max-max-util", "beside": "fcfs-all", "tasks": 1000})],
    ),
    "dropping": Lesson(
        "Letting go",
        "With a dropping threshold of 0 every task is kept, however little it can still earn, and stands in the way of "
        "others. A task below the threshold is dropped.",
        "Move the dropping threshold up step by step. Where does the day earn most? And why does it earn less again "
        "beyond that?",
        {"policy": "max-max-util", "beside": "", "tasks": 1000, "threshold": 0},
        [(f"Threshold {value:g}", {"policy": "max-max-util", "beside": "", "tasks": 1000, "threshold": value})
         for value in (0.5, 1, 2)],
    ),
    "budget": Lesson(
        "When energy runs out",
        "Now the day may use 30 MJ, about half of what it would take. The policy asks for utility alone, and knows "
        "nothing of tomorrow.",
        "At what hour does the line of energy meet its budget? What do the machines do after that, and what would "
        "another 10 MJ be worth?",
        _SCARCE,
        [("40 MJ", {**_SCARCE, "budget": 40}), ("20 MJ", {**_SCARCE, "budget": 20})],
    ),
    "filter": Lesson(
        "Saving for later",
        "An energy filter takes away choices that use more than their share of what is left. No joule is added: some "
        "tasks run slower, and some do not run at all, so that there is energy in the evening.",
        "With the same 30 MJ, how much more does the day earn with the adaptive filter? Which tasks paid for it?",
        {**_SCARCE, "filter": "adaptive"},
        [("Without a filter", _SCARCE),
         ("Fair shares", {**_SCARCE, "filter": "fair-share"}),
         ("Fair shares, twice as lenient", {**_SCARCE, "filter": "fair-share", "leniency": 2})],
    ),
    "bound": Lesson(
        "How good is good",
        "The dotted line is proven: nobody could earn more with these machines, these tasks and this energy, not even "
        "who knew the whole day beforehand. Prices raises the price of what runs short, and makes no choice that is "
        "not worth it.",
        "How much of the gap to the dotted line does Prices leave? And is the rest of it the fault of the policy, or "
        "of not knowing the day to come?",
        {**_SCARCE, "policy": "prices", "beside": "max-max-upe"},
        [("With half the energy", {**_SCARCE, "policy": "prices", "beside": "max-max-upe", "budget": 15}),
         ("With energy for everything, and too much work",
          {"policy": "prices", "beside": "max-max-upe", "tasks": 1000})],
    ),
}  # fmt: skip
"""The lessons in their order, by what stands for them in an address."""
