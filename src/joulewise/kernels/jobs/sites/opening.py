"""A site that does not begin empty: jobs run that have started before."""

from __future__ import annotations

from joulewise.kernels.jit import kernel
from joulewise.kernels.jobs.sites.running import begin_job, place_job


@kernel
def open_site(run, running):
    """Let jobs run since they have started, at the places that they have."""
    for at in range(running.job.size):
        i, first, choice = running.job[at], running.first[at], run.choice
        choice.n[0] = running.first[at + 1] - first
        for c in range(choice.n[0]):
            choice.place[c], choice.n_pieces[c] = running.place[first + c], running.n_pieces[first + c]
        place_job(run, i, running.since_s[at])
        begin_job(run, i, running.since_s[at])
        run.conditions.has_come[i] = True
