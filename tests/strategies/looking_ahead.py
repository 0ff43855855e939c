"""Files of policies that decide by what is still to come, each in its own way, and of one that does not."""

TASKS_AHEAD = '''
import joulewise
import numpy as np


def assign(event, is_held):
    """In order of arrival, where each ends first; nothing while it is held."""
    free_s, rows = np.where(event.is_open, event.free_s, np.inf), []
    for task, kind in zip(event.task, event.task_type):
        end_s = free_s + event.exec_s[kind, event.machine_type, 0]
        machine = end_s.argmin()
        if end_s[machine] < np.inf:
            rows.append((task, machine, 0))
            free_s[machine] = end_s[machine]
    return None if is_held else np.array(rows)


@joulewise.policy()
def by_arrivals(event):
    arrival_s = event.world.workload.arrival_s
    soon = (arrival_s > event.now_s) & (arrival_s <= event.now_s + 100)
    return assign(event, soon.sum() % 3 == 1)


@joulewise.policy()
def by_truth(event):
    stretch = event.world.workload.stretch
    return assign(event, stretch is not None and (stretch[event.task] > 1.2).any())


@joulewise.policy()
def by_failures(event):
    start_s = event.world.outages.start_s
    return assign(event, ((start_s > event.now_s) & (start_s < event.now_s + 200)).any())


@joulewise.policy()
class by_start:
    def start(self, world):
        self.later_s = 20 * world.workload.scale[-10:].sum()

    def decide(self, event):
        return assign(event, event.now_s < self.later_s)


@joulewise.policy(compiled=True)
def compiled_by_arrivals(event):
    n, soon = 0, 0
    for at_s in event.tasks.arrival_s:
        soon += event.now_s[0] < at_s <= event.now_s[0] + 100
    if soon % 3 == 1:
        return 0
    for i in np.sort(event.task[: event.n_waiting[0]]):
        for m in range(event.free_s.size):
            if event.is_open[m] and event.exec_s[event.tasks.task_type[i], event.machine_type[m], 0] < np.inf:
                event.answer[n, 0], event.answer[n, 1], event.answer[n, 2] = i, m, 0
                n += 1
                break
    return n


@joulewise.policy()
def by_the_past(event):
    return assign(event, event.past.task.size % 3 == 1 and event.now_s < 500)
'''

JOBS_AHEAD = '''
import joulewise


def start(event, is_held):
    """Jobs in their order, each at once where it can."""
    for job in event.job:
        options = event.choices.option[event.choices.job == job]
        start_s = event.earliest_s(job, options)
        if start_s.min() == event.now_s and not (is_held and event.running.job.size):
            event.start(job, options[start_s.argmin()])


@joulewise.jobs.policy()
def by_arrivals(event):
    arrival_s = event.world.jobs.work.arrival_s
    start(event, ((arrival_s > event.now_s) & (arrival_s < event.now_s + 300)).sum() % 2 == 1)


@joulewise.jobs.policy()
def by_users(event):
    codes = event.world.jobs.labels["user"].codes
    start(event, codes[event.world.jobs.work.arrival_s > event.now_s][:3].sum() > 0)


@joulewise.jobs.policy()
def by_truth(event):
    types = event.world.types
    option = types.first[event.job_type[:1]]
    start(event, (types.time_s[option] < 0.6 * types.planned_s[option]).any())


@joulewise.jobs.policy()
def by_failures(event):
    start_s = event.world.outages.start_s
    start(event, ((start_s > event.now_s) & (start_s < event.now_s + 1000)).any())


@joulewise.jobs.policy()
def by_the_past(event):
    start(event, event.past.job.size % 3 == 1)
'''
