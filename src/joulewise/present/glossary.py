"""The words a reader of the report needs, one meaning each."""

from __future__ import annotations

from joulewise.present.records import FACILITY, FRONT, JOBS, KNOWN, MANAGED, PROFIT

_STATISTICS = {
    "Run": "One trial of one combination of the swept values.",
    "95 % confidence interval": (
        "The range that would hold the true mean in 95 of 100 such studies (Student's t over the trials). "
        "With one trial there is none."
    ),
}

_MANAGED = {
    "Utility": (
        "What the system earns for a task. It depends on the task's priority and falls with the time "
        "between its arrival and its completion."
    ),
    "Maximum utility": (
        "What would be earned if every task started the moment it arrived, on the machine that runs it "
        "fastest, with no other task in the way: the yardstick of the literature. On a busy system no policy "
        "comes near."
    ),
    "% of maximum utility": (
        "Utility earned divided by the maximum utility of the same trial. It makes trials and loads comparable."
    ),
    "Proven bound": (
        "What no policy can exceed, even one that knows the future: prices for machine time prove it, and "
        "`joulewise verify` checks the proof. Utility in percent of it says how much of what is possible was "
        "earned, at least."
    ),
    "Policy": (
        "The rule that decides which task runs on which machine. In immediate mode it places each task "
        "when it arrives and never moves it again; in batch mode it decides again and again on all tasks "
        "that have not started."
    ),
    "Mapping event": "A moment at which the policy decides.",
    "Dropping threshold": (
        "A task is dropped once the most it can still earn is below this value. At 0 nothing is dropped."
    ),
    "Trial": "One drawing of all random numbers. All policies meet the same trials.",
    **_STATISTICS,
    "Paired difference": (
        "Two policies compared trial by trial, so that what is common to both cancels. If its interval "
        "reaches zero, these trials do not tell the two apart. Intervals are for one comparison each, not "
        "for all at once."
    ),
}

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
    "Knee": "The point of a front farthest from the straight line between its ends, both axes scaled to their range.",
    "Trial": "One drawing of all random numbers. All methods meet the same trials.",
    **_STATISTICS,
}
GLOSSARIES = {
    MANAGED: _MANAGED,
    FRONT: _BAG
    | {
        "Hypervolume": (
            "The area between a front and a reference point that is worse than all of it (1.1 times the worst of "
            "either objective on the bound), in percent of the same area of the proven bound."
        ),
        "Distance to the bound": "How much more energy a point uses than is proven to be needed for its makespan.",
        "Variation": "Standard deviation over machines divided by their mean: 0 where all are alike.",
    },
    PROFIT: _BAG
    | {
        "Profit per second": "The price of the bag less the cost of running it, divided by the makespan.",
        "Profit ratio": "The price of the bag divided by the least that its energy can cost.",
        "Distance to the bound": "How far the profit per second lies below the most that is proven possible.",
    },
    KNOWN: {
        "Utility": _MANAGED["Utility"],
        "Assignment": (
            "Which machine runs which task, in which P-state and in which order; times follow from it. All tasks are "
            "known in advance, and none starts before it has arrived."
        ),
        "Front": "Assignments of which none is beaten by another in both energy and utility.",
        "Proven bound": (
            "More utility than the line says for an energy no assignment earns, found or not: prices for machine time "
            "and energy prove it, and `joulewise verify` checks the proof."
        ),
        "Hypervolume": (
            "The area that a front dominates, down to no utility and up to 1.8 times the least energy of all tasks, in "
            "percent of the same area of the proven bound; or of the whole box, as if all tasks earned all they are "
            "worth for the least energy."
        ),
        "Certified": (
            "Proven, in a way that can be checked without trusting the search. The certified share of a front "
            "is its hypervolume in percent of that of the proven bound: no front has more than 100 %, and what is "
            "missing may be missing in the front or in the bound."
        ),
        "Objective": (
            "What a search counts as energy and utility: by mean times and powers, or over samples of them, where "
            "these are uncertain."
        ),
        "Knee": _BAG["Knee"],
        "Seeds": (
            "Assignments made by simple rules that the first population of a genetic search has; the others are drawn."
        ),
        "Fresh samples": (
            "Draws of all times and powers that the search has not seen. The same draws judge all assignments."
        ),
        "Percentile": (
            "A search for percentile X counts the utility that X percent of the samples reach and the energy that X "
            "percent of them stay within: 99 is cautious, 1 hopeful."
        ),
        "Trial": _BAG["Trial"],
        **_STATISTICS,
    },
    JOBS: {
        "Job": "A program that needs a number of nodes of one cluster at the same time, until it ends.",
        "Cluster": "Nodes that are all alike; a node is given to one job at a time.",
        "Scheduler": (
            "The rule that decides which job starts when on which cluster, with how many nodes and in which P-state, "
            "and what it commits to for jobs that must wait."
        ),
        "Reservation": "Nodes promised to a waiting job from an instant on; the promise is kept.",
        "Place-holder": "The same, but given up at the next mapping event, so that a better job may come first.",
        "Backfilling": "Starting a later job early where it delays no job that has a reservation.",
        "Utility": (
            "What the system earns for a job. It depends on the job's priority and falls with the time between its "
            "arrival and its completion."
        ),
        "Maximum utility": (
            "What would be earned if every job started the moment it arrived, where it is fastest, with no other job "
            "in the way. On a busy system no scheduler comes near."
        ),
        "Proven bound": (
            "What no scheduler can exceed, even one that knows the future. Prices for node time and energy prove it, "
            'and `joulewise verify` checks the proof; with `bound = "trivial"` it is the maximum utility.'
        ),
        "Energy filter": (
            "Takes away options that would use more than a fair share of the energy that is left, counted per task or "
            "per core and second. The leniency says how many fair shares are allowed."
        ),
        "Wait": "The time from when a job could have started until it did, without the time in which it ran before.",
        "Bounded slowdown": (
            "The time from when a job could have started until it ended, divided by its run time, or by 10 s if it ran "
            "for less; at least 1."
        ),
        "Planned time": "The run time that the scheduler knows: that which the user requested, or a prediction.",
        "Fairness": (
            "Jain's index of the users' mean bounded slowdowns: the square of their sum over their number times the "
            "sum of their squares. It is 1 if all are alike."
        ),
        "Mapping event": "A moment at which the scheduler decides.",
        "Trial": "One drawing of all random numbers. All schedulers meet the same trials.",
        **_STATISTICS,
        "Paired difference": _MANAGED["Paired difference"].replace("policies", "schedulers"),
    },
    FACILITY: {
        "Plan": (
            "The share of its time that each core spends on each task type, the P-state for each, and the supply "
            "temperature of every CRAC unit."
        ),
        "Reward rate": (
            "Reward per second if no core slowed another, in percent of that of all tasks that arrive. No more tasks "
            "of a type count than arrive."
        ),
        "Co-located reward rate": (
            "The same with what cores of one processor slow each other: what is really earned, and what plans are "
            "compared by."
        ),
        "Proven bound": (
            "No plan that keeps the cap and the redlines has a higher co-located reward rate, found or not: prices for "
            "power, temperatures and tasks prove it, and `joulewise verify` checks the proof."
        ),
        "Memory class": "How much a task type needs the memory, and so slows, and is slowed by, others beside it.",
        "CRAC unit": "It takes in warm air and blows cold air at its supply temperature; the colder, the dearer.",
        "Redline": "The warmest air that a node may take in.",
        "Cap": "The most that nodes and CRAC units may draw together.",
        "Worth of another kW": (
            "By how much at most the co-located reward rate rises if the cap is 1 kW higher: the price of power that "
            "proves the bound."
        ),
        "Trial": _BAG["Trial"].replace("methods", "techniques"),
        **_STATISTICS,
    },
}
"""The words of each kind of study."""

LABORATORY = {
    "Program": "A command line that is measured.",
    "Alone": "A program that runs while nothing else does: its baseline.",
    "Group": "Programs that run at the same time, each on cores of its own.",
    "Slowdown": "How much longer a program takes beside others than alone at the same clock: 30 % is 1.3 times.",
    "Suffers, causes": "The mean slowdown of a program, and that of others beside it, over all pairs measured.",
    "Misses per instruction": (
        "Last-level cache misses over instructions: how often a program must go to memory, which all programs share."
    ),
    "Class": (
        "Programs are divided so that logarithms of their misses per instruction (or of what they suffer and cause, "
        "where misses were not counted) differ least within classes; I is the lightest."
    ),
    "Clock": "The frequency or the governor that cores were told to use; 'as is' where nothing was set.",
    "Way": (
        "Restart: a program that ends early is started again until all have ended once, so that nobody is ever alone. "
        "Once: it is not, so that the energy until the last has ended is that of running each once."
    ),
    "Static and dynamic power": "What is drawn with nothing running, and what a program adds to it.",
    "Saved": "By how much less energy programs need together than one after the other, as a share of the latter.",
    "95 % confidence interval": (
        "The range that would hold the true mean in 95 of 100 such experiments (Student's t over repetitions). "
        "With one repetition there is none."
    ),
}
"""The words of the laboratory."""
