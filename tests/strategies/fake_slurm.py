"""A Slurm in memory: jobs, nodes and a clock that is set by hand. It answers and obeys as a real one does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from joulewise.errors import Problem
from joulewise.slurm.calls import SlurmError
from joulewise.slurm.queue import CELLS, STAGES, WAITS
from joulewise.worlds.jobs.sites.hostlists import compacted, expanded

_TOP = 4_294_901_760
"""The first priority that Slurm gives with priority/basic; each next job has one less."""


@dataclass
class FakeNode:
    """A node: its processors, what it offers, and whether it may get new jobs."""

    name: str
    cores: int = 4
    features: tuple[str, ...] = ()
    is_drained: bool = False


@dataclass
class FakeJob:
    """A job, in the words of Slurm where it has some."""

    number: int
    partition: str
    cores: int
    limit_s: float
    runs_s: float
    submit_at_s: float
    user: str = "ann"
    account: str = ""
    qos: str = ""
    name: str = "job"
    comment: str = ""
    admin_comment: str = ""
    array: int = 0
    task: int | None = None
    wanted: list[str] = field(default_factory=list)
    features: str = ""
    state: str = "PENDING"
    reason: str = "None"
    priority: int = 0
    begin_at_s: float = 0.0
    start_at_s: float | None = None
    end_at_s: float | None = None
    on: list[str] = field(default_factory=list)
    n_nodes: int = 1
    restarts: int = 0

    @property
    def key(self) -> str:
        """How orders call it."""
        return str(self.number) if self.task is None else f"{self.array}_{self.task}"

    @property
    def cores_each(self) -> int:
        """The processors that it takes on each of its nodes."""
        return -(-self.cores // self.n_nodes)


@dataclass
class FakeSlurm:
    """A cluster of nodes in partitions. Jobs start by priority, as soon as they fit."""

    nodes: dict[str, FakeNode]
    partitions: dict[str, list[str]]
    now_s: float = 1_800_000_000.0
    jobs: dict[str, FakeJob] = field(default_factory=dict)
    told: list[tuple[str, ...]] = field(default_factory=list)
    """Every command that was run."""
    silent_for: int = 0
    """So many of the next commands get no answer."""
    loses_answers: int = 0
    """So many of the next orders are done, and their answers lost."""
    version: str = "22.05.8"
    _next: int = 1
    _given: int = 0

    # --- what people and time do ----------------------------------------------------------------------------

    def submit(
        self, partition: str, *, cores: int = 1, limit_s: float = 600, runs_s: float = 60, tasks: int = 0,
        is_held: bool = False, **others: Any,
    ) -> list[str]:  # fmt: skip
        """Submit a job, or an array of so many tasks, perhaps held, with what else a `FakeJob` has; its keys."""
        number, keys = self._number(), []
        for task in range(max(tasks, 1)):
            job = FakeJob(number, partition, cores, limit_s, runs_s, self.now_s, **others)
            job.array, job.task = (number, task) if tasks else (0, None)
            job.priority, job.reason = (0, "JobHeldUser") if is_held else (self._priority(), "None")
            self.jobs[job.key] = job
            keys.append(job.key)
        self.schedule()
        return keys

    def pass_time(self, seconds: float) -> None:
        """Let time pass: jobs end when they are done or at their limit, and others start at once."""
        until_s = self.now_s + seconds
        while (next_s := min(self._moments(), default=math.inf)) <= until_s:
            self.now_s = max(self.now_s, next_s)
            for job in self._running():
                if self._ends_at_s(job) <= self.now_s:
                    self._end(job, "COMPLETED" if job.runs_s <= job.limit_s else "TIMEOUT")
            self.schedule()
        self.now_s = until_s

    def cancel(self, key: str) -> None:
        """Cancel a job, as its user may at any moment."""
        job = self.job(key)
        if STAGES[job.state] == WAITS or job.state == "RUNNING":
            self._end(job, "CANCELLED")
        self.schedule()

    def requeue(self, key: str) -> None:
        """Have a running job wait again, as when its node fails."""
        job = self.job(key)
        job.state, job.reason, job.on, job.start_at_s = "PENDING", "BeginTime", [], None
        job.restarts += 1
        job.begin_at_s = self.now_s + 120
        self.schedule()

    def job(self, key: str) -> FakeJob:
        """The job that is called so."""
        return self.jobs[key]

    # --- scheduling -----------------------------------------------------------------------------------------

    def schedule(self) -> None:
        """Start all that may run and fits, by priority."""
        for job in sorted(self.jobs.values(), key=lambda job: (-job.priority, job.number)):
            if job.state == "PENDING" and job.priority:
                self._try_to_start(job)

    def _try_to_start(self, job: FakeJob) -> None:
        if job.begin_at_s > self.now_s:
            job.reason = "BeginTime"
            return
        fitting = [node for node in self._allowed(job) if self._free(node) >= job.cores_each]
        if len(fitting) < job.n_nodes:
            job.reason = "Resources"
            return
        self._part(job)
        job.state, job.reason, job.on, job.start_at_s = "RUNNING", "None", fitting[: job.n_nodes], self.now_s

    def _allowed(self, job: FakeJob) -> list[str]:
        names = [name for partition in job.partition.split(",") for name in self.partitions[partition]]
        asked = (name for name in names if not job.wanted or name in job.wanted)
        wants = set(filter(None, job.features.split("&")))
        return [name for name in asked if not self.nodes[name].is_drained and wants <= set(self.nodes[name].features)]

    def _free(self, node: str) -> int:
        return self.nodes[node].cores - sum(job.cores_each for job in self._running() if node in job.on)

    def _running(self) -> list[FakeJob]:
        return [job for job in self.jobs.values() if job.state == "RUNNING"]

    def _ends_at_s(self, job: FakeJob) -> float:
        return (job.start_at_s or 0.0) + min(job.runs_s, job.limit_s)

    def _moments(self) -> Iterator[float]:
        yield from (self._ends_at_s(job) for job in self._running())
        waiting = (job for job in self.jobs.values() if job.state == "PENDING" and job.priority)
        yield from (job.begin_at_s for job in waiting if job.begin_at_s > self.now_s)

    def _end(self, job: FakeJob, state: str) -> None:
        job.state, job.end_at_s = state, self.now_s

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _part(self, job: FakeJob) -> None:
        """Give a task a number of its own when it is no more like the others of its array; the last keeps theirs."""
        if any(other is not job and other.number == job.number for other in self.jobs.values()):
            job.number = self._number()

    def _priority(self) -> int:
        self._given += 1
        return _TOP - self._given

    # --- what commands do -----------------------------------------------------------------------------------

    def run(self, words: Sequence[str], limit_s: float) -> str:
        """What the command prints; SlurmError as by the real one."""
        self.told.append(tuple(words))
        if self.silent_for:
            self.silent_for -= 1
            raise _silence(words)
        command, verb, *rest = words
        if command == "scontrol" and verb in _ORDERS:
            _ORDERS[verb](self, rest)
            self.schedule()
            if self.loses_answers:
                self.loses_answers -= 1
                raise _silence(words)
            return ""
        return _ANSWERS[command, verb if command == "scontrol" else ""](self, words)

    def release(self, words: Sequence[str]) -> None:
        """scontrol release"""
        for job in self._each(words):
            if job.state == "PENDING" and not job.priority:
                job.priority, job.reason = self._priority(), "None"

    def uhold(self, words: Sequence[str]) -> None:
        """scontrol uhold"""
        self._hold(words, "JobHeldUser")

    def hold(self, words: Sequence[str]) -> None:
        """scontrol hold"""
        self._hold(words, "JobHeldAdmin")

    def _hold(self, words: Sequence[str], reason: str) -> None:
        for job in self._each(words):
            if job.state == "PENDING":
                job.priority, job.reason = 0, reason

    def requeue_hold(self, words: Sequence[str]) -> None:
        """scontrol requeuehold"""
        for job in self._each(words):
            if job.state != "RUNNING":
                raise _refusal("Job is pending execution")
            self.requeue(job.key)
            job.priority, job.reason = 0, "job requeued in held state"

    def update(self, words: Sequence[str]) -> None:
        """scontrol update"""
        changes = dict(word.split("=", 1) for word in words)
        (job,) = self._each([changes.pop("JobId")])
        whole = replace(job)
        for name, value in changes.items():
            _UPDATES[name](self, job, value)
        if job.state != "PENDING" and (whole.wanted, whole.partition) != (job.wanted, job.partition):
            self.jobs[job.key] = whole
            raise _refusal("Job is no longer pending execution")

    def _each(self, words: Sequence[str]) -> Iterator[FakeJob]:
        """The jobs of a list; Slurm does what it can for the others before it complains of one."""
        unknown = []
        for key in ",".join(words).split(","):
            found = [job for job in self.jobs.values() if key in (job.key, str(job.array)) or key == str(job.number)]
            for job in found:
                if job.end_at_s is None:
                    self._part(job)
                    yield job
            if not found:
                unknown.append(key)
        if unknown:
            raise _refusal(f"Invalid job id specified for job {unknown[0]}")

    def queue(self, words: Sequence[str]) -> str:
        """squeue --Format, with what ends each cell."""
        options = dict(word.partition("=")[::2] for word in words[1:])
        asked = [part.partition(":")[::2] for part in options["--Format"].split(",")]
        shown = [job for job in self.jobs.values() if options.get("--states") or job.end_at_s is None]
        return "".join("".join(f"{_CELLS[name](job)}{mark}" for name, mark in asked) + "\n" for job in shown)

    def tell_nodes(self, words: Sequence[str]) -> str:
        """sinfo --Node --Format, with what ends each cell; a node comes once for each of its partitions"""
        asked = [part.partition(":")[::2] for part in words[-1].removeprefix("--Format=").split(",")]
        told = [self.nodes[name] for name in self.nodes for nodes in self.partitions.values() if name in nodes]
        return "".join("".join(f"{self._node_cell(node, name)}{mark}" for name, mark in asked) + "\n" for node in told)

    def _node_cell(self, node: FakeNode, name: str) -> str:
        taken = node.cores - self._free(node.name)
        plain = "allocated" if taken == node.cores else "mixed" if taken else "idle"
        drained = "draining" if taken else "drained"
        idle, other = (0, node.cores - taken) if node.is_drained else (node.cores - taken, 0)
        cells = {
            "NodeList": node.name,
            "StateLong": drained if node.is_drained else plain,
            "CPUsState": f"{taken}/{idle}/{other}/{node.cores}",
        }
        return cells[name]

    def show(self, words: Sequence[str]) -> str:
        """scontrol show node, partition or config"""
        return {"node": self._shown_nodes, "partition": self._shown_partitions, "config": self._shown_config}[
            words[2]
        ]()

    def _shown_nodes(self) -> str:
        return "".join(f"{self._node_line(node)}\n" for node in self.nodes.values())

    def _shown_partitions(self) -> str:
        return "".join(
            f"PartitionName={name} Default=NO DefaultTime=NONE MaxTime=UNLIMITED Nodes={compacted(nodes)} "
            f"OverSubscribe=NO State=UP TotalCPUs={sum(self.nodes[node].cores for node in nodes)}\n"
            for name, nodes in self.partitions.items()
        )

    def _shown_config(self) -> str:
        settings = {"ClusterName": "fake", "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CORE",
                    "SchedulerType": "sched/backfill", "PriorityType": "priority/basic", "SlurmUser": "slurm(64030)",
                    "SLURM_VERSION": self.version}  # fmt: skip
        lines = (f"{name:<23} = {value}\n" for name, value in settings.items())
        return f"Configuration data as of {_instant(self.now_s)}\n{''.join(lines)}"

    def _node_line(self, node: FakeNode) -> str:
        taken = node.cores - self._free(node.name)
        state = self._node_cell(node, "StateLong").upper()
        inside = ",".join(name for name, nodes in self.partitions.items() if node.name in nodes)
        features = ",".join(node.features) or "(null)"
        return (
            f"NodeName={node.name} CoresPerSocket=1 CPUAlloc={taken} CPUTot={node.cores} AvailableFeatures={features} "
            f"ActiveFeatures={features} Gres=(null) RealMemory=100000 Sockets={node.cores} Boards=1 "
            f"State={_SHOWN_STATES.get(state, state)} ThreadsPerCore=1 Weight=1 Partitions={inside}"
        )

    def tell_version(self, words: Sequence[str]) -> str:
        """scontrol --version"""
        return f"slurm {self.version}\n"


def _silence(words: Sequence[str]) -> SlurmError:
    return SlurmError(Problem(" ".join(words[:2]), "did not answer within its time"), is_silent=True)


def _refusal(said: str) -> SlurmError:
    return SlurmError(Problem("scontrol", f"failed: {said}"), is_silent=False)


def _instant(at_s: float | None) -> str:
    return "N/A" if at_s is None else datetime.fromtimestamp(at_s, UTC).isoformat()[:19]


def _length(length_s: float) -> str:
    hours, rest = divmod(round(length_s), 3600)
    return f"{hours // 24}-{hours % 24:02d}:{rest // 60:02d}:{rest % 60:02d}"


def _planned_end(job: FakeJob) -> str:
    return _instant(job.end_at_s if job.start_at_s is None or job.end_at_s else job.start_at_s + job.limit_s)


_SHOWN_STATES = {"DRAINED": "IDLE+DRAIN", "DRAINING": "MIXED+DRAIN"}

_Cell = Callable[[FakeJob], object]

_CELLS: dict[str, _Cell] = dict.fromkeys((cell.text for cell in CELLS.values()), lambda _: "N/A")
_CELLS |= {
    "JobID": lambda job: job.number,
    "ArrayJobID": lambda job: job.array or job.number,
    "ArrayTaskID": lambda job: "N/A" if job.task is None else job.task,
    "State": lambda job: job.state,
    "Reason": lambda job: job.reason,
    "UserName": lambda job: job.user,
    "Account": lambda job: job.account or "(null)",
    "QOS": lambda job: job.qos or "(null)",
    "Partition": lambda job: job.partition,
    "PriorityLong": lambda job: job.priority,
    "SubmitTime": lambda job: _instant(job.submit_at_s),
    "EligibleTime": lambda job: _instant(max(job.submit_at_s, job.begin_at_s) if job.priority else None),
    "StartTime": lambda job: _instant(job.start_at_s),
    "EndTime": _planned_end,
    "TimeLimit": lambda job: _length(job.limit_s),
    "NumNodes": lambda job: job.n_nodes,
    "NumCPUs": lambda job: job.cores,
    "tres-alloc": lambda job: f"cpu={job.cores},node={job.n_nodes},billing={job.cores}",
    "Feature": lambda job: job.features or "(null)",
    "ReqNodes": lambda job: compacted(job.wanted),
    "NodeList": lambda job: compacted(job.on),
    "OverSubscribe": lambda _: "OK",
    "RestartCnt": lambda job: job.restarts,
    "Name": lambda job: job.name,
    "admin_comment": lambda job: job.admin_comment or "(null)",
    "Comment": lambda job: job.comment or "(null)",
}


def _set(name: str, read: Callable[[str], object] = str) -> Callable[[FakeSlurm, FakeJob, str], None]:
    return lambda _, job, value: setattr(job, name, read(value))


def _set_partition(slurm: FakeSlurm, job: FakeJob, value: str) -> None:
    if not set(value.split(",")) <= slurm.partitions.keys():
        raise _refusal("Invalid partition name specified")
    job.partition = value


def _set_nodes(slurm: FakeSlurm, job: FakeJob, value: str) -> None:
    names = expanded(value)
    if not set(names) <= slurm.nodes.keys():
        raise _refusal("Invalid node name specified")
    job.wanted = names


def _read_instant(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _read_length(text: str) -> float:
    days, hours, minutes, seconds = map(int, re.split("[-:]", text))
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


_UPDATES: dict[str, Callable[[FakeSlurm, FakeJob, str], None]] = {
    "Partition": _set_partition,
    "ReqNodeList": _set_nodes,
    "Features": _set("features"),
    "StartTime": _set("begin_at_s", _read_instant),
    "TimeLimit": _set("limit_s", _read_length),
    "AdminComment": _set("admin_comment"),
}

_ORDERS: dict[str, Callable[[FakeSlurm, Sequence[str]], None]] = {
    "release": FakeSlurm.release,
    "uhold": FakeSlurm.uhold,
    "hold": FakeSlurm.hold,
    "requeuehold": FakeSlurm.requeue_hold,
    "update": FakeSlurm.update,
}

_ANSWERS: dict[tuple[str, str], Callable[[FakeSlurm, Sequence[str]], str]] = {
    ("squeue", ""): FakeSlurm.queue,
    ("sinfo", ""): FakeSlurm.tell_nodes,
    ("scontrol", "show"): FakeSlurm.show,
    ("scontrol", "--version"): FakeSlurm.tell_version,
}
