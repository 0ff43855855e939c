"""The words a reader of a report on parallel jobs needs, one meaning each."""

from __future__ import annotations

from joulewise.present.glossary import STATISTICS, paired_difference_of, trial_of

GLOSSARY = {
    "Job": (
        "A program that needs a number of nodes of one cluster at the same time, until it ends; on a site, processors, "
        "memory and more of some nodes."
    ),
    "Cluster": (
        "Nodes that are all alike; a node is given to one job at a time. All processors of a site are shown as one "
        "cluster, though its nodes differ and several jobs share one."
    ),
    "Scheduler": (
        "The rule that decides which job starts when on which cluster, with how many nodes and in which P-state, "
        "and what it commits to for jobs that must wait."
    ),
    "Reservation": "Nodes promised to a waiting job from an instant on; the promise is kept.",
    "Place-holder": "A reservation that is given up at the next mapping event, so that a better job may come first.",
    "Backfilling": "Starting a later job early where it delays no job that has a reservation.",
    "Utility": (
        "What the system earns for a job. It depends on the job's priority and falls with the time between its "
        "arrival and its completion."
    ),
    "Proven bound": (
        "What no scheduler can exceed, even one that knows the future. Prices for node time and energy prove it, "
        'and `joulewise verify` checks the proof; with `bound = "trivial"` it is what jobs could earn if none '
        "were in the way of others."
    ),
    "% of what is possible": (
        "Utility earned divided by the proven bound of the same trial. The best possible may lie below the bound, so "
        "this is the least that it can be."
    ),
    "Utility if nothing had to wait": (
        "What would be earned if every job started the moment it arrived, where it is fastest, with no other job in "
        "the way. Machovec et al. (2016) call it the maximum utility. On a busy system no scheduler comes near."
    ),
    "Energy filter": (
        "Takes away options that would use more than a fair share of the energy that is left, counted per task or "
        "per core and second. The leniency says how many fair shares are allowed."
    ),
    "Wait": "The time from when a job could have started until it did. Time in which it ran before does not count.",
    "Bounded slowdown": (
        "The time from when a job could have started until it ended, divided by its run time, or by 10 s if it ran "
        "for less; at least 1."
    ),
    "Planned time": "The run time that the scheduler knows: that which the user requested, or a prediction.",
    "Fairness": (
        "Jain's index of the users' mean bounded slowdowns: the square of their sum, divided by their number and by "
        "the sum of their squares. It is 1 if all are alike."
    ),
    "Mapping event": "A moment at which the scheduler decides.",
    "Trial": trial_of("schedulers"),
    **STATISTICS,
    "Resample": (
        "A trial of a log that is made of blocks of its days, drawn with replacement. What is shown came out of the "
        "log itself, the first trial; intervals are as wide as resamples spread, so more of them hardly narrow these."
    ),
    "Paired difference": paired_difference_of("schedulers"),
}
