"""The slow twin of a facility's day: cores with queues of tasks, every one of them looked at every time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, cores_by_processor


@dataclass
class Task:
    """A task; `left` and `pace` are in mean tasks, and hold as of the last change on its processor."""

    arrival_s: float
    kind: int
    size: float
    core: int = -1
    pstate: int = 0
    expected_s: float = 0.0
    start_s: float = math.inf
    end_s: float = math.inf
    left: float = 0.0
    pace: float = 0.0


@dataclass
class Core:
    """What runs first and what waits behind it, and when its next task of each type is due."""

    number: int
    node_type: int
    queue: list[Task] = field(default_factory=list)
    waiting_s: float = 0.0
    due_s: dict[int, float] = field(default_factory=dict)


@dataclass
class Processor:
    """Cores that slow each other, and the instant of the last change."""

    cores: list[Core]
    since_s: float = 0.0

    @property
    def busy(self) -> list[Core]:
        return [core for core in self.cores if core.queue]


class TwinDay:
    """A facility whose dispatcher follows plans; `ahead_s` as in the simulator."""

    plan: FacilityPlan
    time_s: list[list[float]]

    def __init__(self, facility: Facility, ahead_s: float) -> None:
        self.flows, self.ahead_s = facility.tasks, ahead_s
        self.processors = [
            Processor([Core(k, int(facility.node_type[node])) for k in cores])
            for node, cores in cores_by_processor(facility)
        ]

    def follow(self, plan: FacilityPlan, time_s: Floats, now_s: float) -> None:
        """Take up a plan, with the mean time of a task by [core, task type] under it."""
        self.plan, self.time_s = plan, time_s.tolist()
        for t in range(self.flows.n_types):
            takers = [core for p in self.processors for core in p.cores if plan.share[core.number, t] > 0]
            for place, core in enumerate(takers):
                core.due_s[t] = now_s + (place + 0.5) / len(takers) * self.gap_s(core, t)

    def gap_s(self, core: Core, t: int) -> float:
        return 1.0 / (float(self.plan.share[core.number, t]) / self.time_s[core.number][t])

    def run(self, tasks: list[Task], until_s: float) -> None:
        """Let tasks arrive, in order, and end, until an instant."""
        tasks = list(tasks)
        while True:
            ends = [(self.end_s(p, core), core.number, p, core) for p in self.processors for core in p.busy]
            end = min(ends, key=lambda row: row[:2], default=None)
            arrival_s = tasks[0].arrival_s if tasks else math.inf
            end_s = end[0] if end else math.inf
            if min(end_s, arrival_s) >= until_s:
                return
            if end and end_s <= arrival_s:
                self.end(end[2], end[3], end_s)
            else:
                self.send(tasks.pop(0))

    def end_s(self, processor: Processor, core: Core) -> float:
        return processor.since_s + core.queue[0].left / core.queue[0].pace

    def wait_s(self, processor: Processor, core: Core, now_s: float) -> float:
        """How long a core is expected to be busy."""
        if not core.queue:
            return 0.0
        task = core.queue[0]
        done = task.size - (task.left - (now_s - processor.since_s) * task.pace)
        return core.waiting_s + max(1.0 - done, 0.0) * task.expected_s

    def send(self, task: Task) -> None:
        now_s, t = task.arrival_s, task.kind
        deadline_s = float(self.flows.deadline_s[t]) * (1.0 + 1e-9)
        fitting = [
            (core.due_s[t], core.number, processor, core)
            for processor in self.processors
            for core in processor.cores
            if self.plan.share[core.number, t] > 0
            and core.due_s[t] <= now_s + self.ahead_s
            and self.wait_s(processor, core, now_s) + self.time_s[core.number][t] <= deadline_s
        ]
        if not fitting:
            return
        due_s, _, processor, core = min(fitting, key=lambda row: row[:2])
        core.due_s[t] = max(due_s, now_s - deadline_s) + self.gap_s(core, t)
        task.core, task.pstate = core.number, int(self.plan.pstate[core.number, t])
        task.expected_s = self.time_s[core.number][t]
        if core.queue:
            core.queue.append(task)
            core.waiting_s += task.expected_s
        else:
            self.work(processor, now_s)
            core.queue.append(task)
            self.start(core, now_s)
            self.set_paces(processor)

    def end(self, processor: Processor, core: Core, now_s: float) -> None:
        self.work(processor, now_s)
        core.queue.pop(0).end_s = now_s
        if core.queue:
            core.waiting_s = core.waiting_s - core.queue[0].expected_s if len(core.queue) > 1 else 0.0
            self.start(core, now_s)
        self.set_paces(processor)

    def start(self, core: Core, now_s: float) -> None:
        core.queue[0].start_s, core.queue[0].left = now_s, core.queue[0].size

    def work(self, processor: Processor, now_s: float) -> None:
        for core in processor.busy:
            task = core.queue[0]
            task.left = max(task.left - (now_s - processor.since_s) * task.pace, 0.0)
        processor.since_s = now_s

    def set_paces(self, processor: Processor) -> None:
        classes = self.flows.memory_class
        for core in processor.busy:
            task, stretch = core.queue[0], 1.0
            for other in processor.busy:
                if other is not core:
                    slowdown = self.flows.slowdown[core.node_type, classes[task.kind], classes[other.queue[0].kind]]
                    stretch += float(slowdown)
            task.pace = float(self.flows.speed_per_s[task.kind, core.node_type, task.pstate]) / stretch
