"""What the kernels of a site work on: places, what jobs ask of them, what runs there, and what is held ahead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import Heap
from joulewise.kernels.jobs.energy import JobLedger, JobLimits
from joulewise.kernels.jobs.sites.prices import SitePrices
from joulewise.kernels.jobs.sites.shares import Shares
from joulewise.kernels.jobs.sites.turns import Turns
from joulewise.kernels.layout import Tasks, Utilities
from joulewise.kernels.records import record

NOWHERE = -1
NO_ROOM, STARTED, PASSED_OVER = 0, 1, 2
"""What becomes of a job that is looked at: of one that is passed over nothing is held ahead."""
ANY_NUMBER = 2**62
"""More than there are of anything."""


@record
class Ground(NamedTuple):
    """The places of a site: each node that jobs share is one, and so are all nodes of a group that is given as wholes.

    Those of group g are from `first[g]` to `first[g + 1]`; `group` tells the group of each. `free` has for each place
    what is free now of each resource, and `spare` what all of that is worth: one of a resource counts `worth`. Groups
    of lower `rank` come first, as in `by_rank`.
    """

    first: NDArray[np.int64]
    group: NDArray[np.int64]
    free: NDArray[np.int64]
    spare: NDArray[np.int64]
    rank: NDArray[np.int64]
    by_rank: NDArray[np.int64]
    worth: NDArray[np.int64]
    licences: NDArray[np.int64]


@record
class Asks(NamedTuple):
    """What jobs ask for: jobs of one class ask for the same.

    A job of class k needs `units[k]`, in pieces of which at most `most[k, g]` go to one place of group g. Each takes
    `need[k, g]` there and gives `gives[k, g]` units, 0 where the job may not run. Of a class that `is_spread` no place
    gives more than one. `licences` count for the whole site.
    """

    of_job: NDArray[np.int64]
    partition: NDArray[np.int64]
    units: NDArray[np.int64]
    most: NDArray[np.int64]
    need: NDArray[np.int64]
    gives: NDArray[np.int64]
    is_spread: NDArray[np.bool_]
    licences: NDArray[np.int64]


@record
class Limits(NamedTuple):
    """How much the jobs of holders may have together, and have, and what a job of each class has.

    The holders of a job are in its row of `holders`, -1 where there is none. The first `n_binding` of them bind it.
    """

    most: NDArray[np.int64]
    used: NDArray[np.int64]
    uses: NDArray[np.int64]
    holders: NDArray[np.int64]
    n_binding: int


@record
class Coming(NamedTuple):
    """When jobs can start at the earliest and how long they run; they are in order of arrival.

    One that `waits` does not come when it arrives, but when what it waits for has come. One that was there before
    anything was decided has been ready `since_s`, inf for any other.
    """

    arrival_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    planned_s: NDArray[np.float64]
    waits: NDArray[np.bool_]
    since_s: NDArray[np.float64]


@record
class Running(NamedTuple):
    """Jobs that run before anything is decided: job `job[r]` since `since_s[r]`, so many of its pieces at each place.

    Its places are those from `first[r]` to `first[r + 1]`.
    """

    job: NDArray[np.int64]
    since_s: NDArray[np.float64]
    first: NDArray[np.int64]
    place: NDArray[np.int64]
    n_pieces: NDArray[np.int64]


@record
class Ranked(NamedTuple):
    """What orders go by: nodes, their share of the site, core-seconds and standing of each job, fair shares, turns."""

    tier: NDArray[np.int64]
    nodes: NDArray[np.float64]
    share: NDArray[np.float64]
    resources: NDArray[np.float64]
    standing: NDArray[np.float64]
    shares: Shares
    turns: Turns


@record
class Timed(NamedTuple):
    """The `size[0]` jobs with something to come, and when: a heap with the earliest on top."""

    size: NDArray[np.int64]
    at_s: NDArray[np.float64]
    job: NDArray[np.int64]


@record
class Planned(NamedTuple):
    """The `n[0]` jobs that run, or have ended since the `n_ended[0]` first, and when they are planned to end.

    The first `n_sorted[0]` are sorted.
    """

    n: NDArray[np.int64]
    n_sorted: NDArray[np.int64]
    n_ended: NDArray[np.int64]
    at_s: NDArray[np.float64]
    job: NDArray[np.int64]


@record
class Pieces(NamedTuple):
    """Where jobs run: those of job i are the `n[i]` rows from `first[i]` on, each so many pieces at a place.

    The rows of a place that run now are linked, from `at_place` on.
    """

    first: NDArray[np.int64]
    n: NDArray[np.int64]
    job: NDArray[np.int64]
    place: NDArray[np.int64]
    n_pieces: NDArray[np.int64]
    before: NDArray[np.int64]
    next: NDArray[np.int64]
    at_place: NDArray[np.int64]


@record
class Rooms(NamedTuple):
    """Places with room for a piece of a class, for some classes: `owner` is whose a row is.

    Of group g those are `n[row, g]` of a row's `place`, from `first[g]` on; `at` tells where each is (-1: nowhere), as
    of the first `upto` changes. The last of the `n_changes[0]` are in a ring, `changed`, by their places.
    """

    n_changes: NDArray[np.int64]
    changed: NDArray[np.int64]
    owner: NDArray[np.int64]
    upto: NDArray[np.int64]
    n: NDArray[np.int64]
    place: NDArray[np.int64]
    at: NDArray[np.int64]


@record
class Outlook(NamedTuple):
    """When each place will have room for one piece of a class, as far as planned and without what is held ahead.

    There are rows for some classes; `owner` is whose a row is. What it has of a place holds as long as the place has
    changed `known` times. `changed` counts that.
    """

    changed: NDArray[np.int64]
    owner: NDArray[np.int64]
    known: NDArray[np.int64]
    room_s: NDArray[np.float64]
    first_s: NDArray[np.float64]
    free: NDArray[np.int64]


@record
class Held(NamedTuple):
    """What is held ahead: `size[0]` pieces of reservations.

    Each holds `n_pieces` of `job` at a `place` from `start_s` to `end_s`; `left` is what nobody has of the place
    when it starts. The pieces of a place are linked from `at_place` by `next`; `by_start` and `by_end` sort them all.
    """

    size: NDArray[np.int64]
    job: NDArray[np.int64]
    place: NDArray[np.int64]
    n_pieces: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    left: NDArray[np.int64]
    next: NDArray[np.int64]
    at_place: NDArray[np.int64]
    by_start: NDArray[np.int64]
    by_end: NDArray[np.int64]


@record
class Choice(NamedTuple):
    """Room to choose places in: what will be free at each, how many units it could give, and the pieces chosen.

    What is there of a place that was not `seen` in this `look` is of an earlier one; `n_near[0]` are, all in `near`.
    """

    look: NDArray[np.int64]
    seen: NDArray[np.int64]
    n_near: NDArray[np.int64]
    near: NDArray[np.int64]
    free: NDArray[np.int64]
    units: NDArray[np.int64]
    n: NDArray[np.int64]
    place: NDArray[np.int64]
    n_pieces: NDArray[np.int64]


@record
class Waiting(NamedTuple):
    """The `n[0]` jobs that wait, in the order in which they are looked at, their keys, and since when they are ready.

    The first `n_due[0]` of `due` wait to have nodes held for them as soon as that makes a difference.
    """

    n: NDArray[np.int64]
    job: NDArray[np.int64]
    key: NDArray[np.float64]
    ready_s: NDArray[np.float64]
    n_due: NDArray[np.int64]
    due: NDArray[np.int64]


@record
class Tried(NamedTuple):
    """What was found not to fit, so that it need not be tried again.

    A class that did not fit when `after[k]` jobs had ended (-1: never tried) does not fit until one more of the
    `n_ended[0]` has. One that did not fit for `planned_s` beside what is held ahead in a `look`, fits for no longer
    time either.
    """

    n_ended: NDArray[np.int64]
    look: NDArray[np.int64]
    after: NDArray[np.int64]
    at_look: NDArray[np.int64]
    planned_s: NDArray[np.float64]


@record
class Partitions(NamedTuple):
    """Of each partition, and of each name that nodes are kept under: for how many of its jobs nodes are held now,
    whether it waits for its first job, and which groups it leaves to nobody else while it does.

    Groups that are closed are left to the partitions that wait. One that `is_down` starts no jobs at this hour.
    """

    n_held: NDArray[np.int64]
    is_blocked: NDArray[np.bool_]
    is_down: NDArray[np.bool_]
    has: NDArray[np.bool_]
    is_closed: NDArray[np.bool_]


@record
class Conditions(NamedTuple):
    """What jobs wait for.

    The rows of what waits for job i are from `first[i]` to `first[i + 1]`: of which `kind`, and that `job` is ready
    `delay_s` later, when `n_left` of its rows are still to come or, where it is `any_of`, with the first. It is not
    ready before `ready_s`. Job i ends badly if it `is_bad`. One that `has_come`, or fits nowhere, does not come; one
    that `has_started` may run again.

    Job i is a part of job `part_of[i]`, -1 for none, of which parts start together: `part` has them, from `first_part`
    on, and `n_away` are not ready.
    """

    first: NDArray[np.int64]
    job: NDArray[np.int64]
    kind: NDArray[np.int64]
    delay_s: NDArray[np.float64]
    n_left: NDArray[np.int64]
    any_of: NDArray[np.bool_]
    ready_s: NDArray[np.float64]
    is_bad: NDArray[np.bool_]
    has_come: NDArray[np.bool_]
    has_started: NDArray[np.bool_]
    part_of: NDArray[np.int64]
    first_part: NDArray[np.int64]
    part: NDArray[np.int64]
    n_away: NDArray[np.int64]


@record
class Kept(NamedTuple):
    """Places that are kept for some jobs: those of place q are the rows from `first[q]` to `first[q + 1]`.

    Row r is for jobs of number `of[r]`, and jobs of class k are of number `of_class[k]`, -1 where nothing is kept for
    them. What number v has is kept from `start_s[v]` to `end_s[v]`. At `at_s`, which rise, that begins or ends at
    `place`; the first `n_past[0]` of these are past, and those not known yet are infinite.
    """

    first: NDArray[np.int64]
    of: NDArray[np.int64]
    of_class: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    at_s: NDArray[np.float64]
    place: NDArray[np.int64]
    n_past: NDArray[np.int64]


@record
class Giving(NamedTuple):
    """Who gives way to whom: a job of kind a stops those of b where `stops[a, b]`, of lower `rank` first.

    Job i is of kind `of_job[i]`, -1 for none. Those that `cut` lets go on for `grace_s` more, and then run again
    or, where that `cancels`, do not; `time_s` and `planned_s` are theirs undisturbed. Where that `suspends` they have
    left so much: the `n_suspended[0]` first of `suspended`, the last stopped last. What class k gives of a place then
    is what class `n_classes + k` needs. Job i stops no others before `patient_s[i]`. `is_anew[0]`: what waits is looked
    at once more now. The first of `chosen` would give way.
    """

    of_job: NDArray[np.int64]
    stops: NDArray[np.bool_]
    rank: NDArray[np.int64]
    grace_s: NDArray[np.float64]
    cancels: NDArray[np.bool_]
    suspends: NDArray[np.bool_]
    exempt_s: float
    n_classes: int
    time_s: NDArray[np.float64]
    planned_s: NDArray[np.float64]
    is_cut: NDArray[np.bool_]
    is_cancelled: NDArray[np.bool_]
    is_again: NDArray[np.bool_]
    is_suspended: NDArray[np.bool_]
    n_suspended: NDArray[np.int64]
    suspended: NDArray[np.int64]
    patient_s: NDArray[np.float64]
    is_anew: NDArray[np.bool_]
    is_chosen: NDArray[np.bool_]
    chosen: NDArray[np.int64]


@record
class Lost(NamedTuple):
    """The `n[0]` stretches of jobs before their last, and the `n_rows[0]` pieces that they had, by their stretch.

    A job that `goes_on` did not run in vain. Where one has no more room, `is_full[0]`, and all that comes after is
    worth nothing.
    """

    n: NDArray[np.int64]
    job: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    goes_on: NDArray[np.bool_]
    n_rows: NDArray[np.int64]
    stretch: NDArray[np.int64]
    place: NDArray[np.int64]
    n_pieces: NDArray[np.int64]
    is_full: NDArray[np.bool_]


@record
class Failing(NamedTuple):
    """Nodes that fail: at `start_s`, which rise, a `place` until `end_s`; the first `n_past[0]` have.

    While it is away it is kept under its own number, `of`, which nobody has. `n_known[0]` instants are known at which
    something begins or ends to be kept. Jobs there run again where `runs_again`, or else end badly.
    """

    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    place: NDArray[np.int64]
    of: NDArray[np.int64]
    n_past: NDArray[np.int64]
    n_known: NDArray[np.int64]
    runs_again: bool


@record
class Hours(NamedTuple):
    """When partitions begin, or stop, to start jobs: at `at_s`, which rise; the first `n_past[0]` are past."""

    at_s: NDArray[np.float64]
    partition: NDArray[np.int64]
    is_up: NDArray[np.bool_]
    n_past: NDArray[np.int64]


@record
class SiteRules(NamedTuple):
    """For how many jobs of each partition nodes are held ahead, and whether later jobs may start before others.

    With `in_passes` that is as in Slurm, with two kinds of passes over the waiting jobs. At every event the first
    `n_first` are looked at, and each partition waits for its first that cannot start, with its nodes; at whole
    multiples of `full_s` all are. At those of `interval_s` the first `n_tested` are, and start beside what is held
    ahead: whole nodes, up to `window_s` ahead, from and until whole multiples of `resolution_s` by a clock that shows
    `clock_s` at instant 0. Priorities are seen anew at every instant or, `by_shares`, when fair shares are; a job that
    comes has its own from then on. What waits is looked at when anything happens or, with a finite `mapping_s`, at
    whole multiples of that.
    """

    n_ahead: int
    backfills: bool
    is_by_arrival: bool
    by_shares: bool
    in_passes: bool
    interval_s: float
    full_s: float
    resolution_s: float
    window_s: float
    n_first: int
    n_tested: int
    clock_s: float
    mapping_s: float


@record
class Greed(NamedTuple):
    """What the greedy works on, if it `is_used`; `value` is what a choice is worth, before it is paid for by `prices`.

    A job of kind v, which for job i is `kind[i]`, may run as any of the classes of `option` from `first[v]` to
    `first[v + 1]`. One that would earn less than the `threshold` is dropped, and where the greedy `declines`, one waits
    that is worth nothing after paying.
    Of each job that it looks at in an event, `looked_s` is when it would start beside the `n_plans[0]` that were made
    when it was looked at, which is in `looked`. The heap has those of one tier, the next of which are from `next[0]` on
    in the order of the queue. `witness[0]` jobs of the queue cannot start any longer.
    """

    is_used: bool
    falls_with_time: bool
    declines: bool
    threshold: float
    value: Any
    tasks: Tasks
    utilities: Utilities
    energy_j: NDArray[np.float64]
    kind: NDArray[np.int64]
    first: NDArray[np.int64]
    option: NDArray[np.int64]
    prices: SitePrices
    heap: Heap
    looked: NDArray[np.int64]
    looked_s: NDArray[np.float64]
    n_plans: NDArray[np.int64]
    next: NDArray[np.int64]
    witness: NDArray[np.int64]


@record
class SiteFates(NamedTuple):
    """What may become of jobs but to run and end: those that pass what is `admitted` are refused, some give way.

    Some lose their nodes, and partitions have hours.

    It is apart from what else a run works on, as few functions need it, and each hands on all that it is given.
    """

    admitted: Limits
    is_refused: NDArray[np.bool_]
    giving: Giving
    lost: Lost
    failing: Failing
    hours: Hours


@record
class Power(NamedTuple):
    """What jobs draw on top of idle nodes, in whole milliwatts, and what cap and budget allow of it, if they do limit.

    Job i draws `least_mw[i]` at least. Where it `is_by_place` what it draws, a piece of a class does
    `of_piece_mw[k, g]`, anywhere else each job its least. One that runs draws `of_job_mw[i]`, planned until
    `until_s[i]`, and all together `used_mw[0]`; at the beginning of later hours that is planned to be `ahead_mw`, a
    ring, which is empty where the cap does not change. It is next higher than before `rise_h` hours after each hour, 0
    for never. Of a greedy, `prices_places` says that what a job is worth depends on where it would run.
    """

    is_limited: bool
    is_by_place: bool
    prices_places: bool
    limits: JobLimits
    ledger: JobLedger
    least_mw: NDArray[np.int64]
    of_piece_mw: NDArray[np.int64]
    of_job_mw: NDArray[np.int64]
    until_s: NDArray[np.float64]
    used_mw: NDArray[np.int64]
    ahead_mw: NDArray[np.int64]
    rise_h: NDArray[np.int64]


@record
class SiteRun(NamedTuple):
    """All that a run of a site works on."""

    ground: Ground
    asks: Asks
    limits: Limits
    coming: Coming
    ranked: Ranked
    rules: SiteRules
    greed: Greed
    ends: Timed
    outlived: Timed
    later: Timed
    planned: Planned
    pieces: Pieces
    rooms: Rooms
    outlook: Outlook
    held: Held
    choice: Choice
    waiting: Waiting
    tried: Tried
    partitions: Partitions
    conditions: Conditions
    kept: Kept
    power: Power
    start_s: NDArray[np.float64]
