"""A wall clock that jumps a day back and forth all the time, for processes that are started with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

DAY_S = 86_400

_SOURCE = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead_s(void) {
    struct timespec since;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &since);
    return (since.tv_nsec / 100000000 %% 3 - 1) * %d;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += ahead_s();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""
"""Each tenth of a second it is a day behind, right, or a day ahead, for whoever asks the C library."""

WHY_NOT = "needs a compiler of C, and a system that loads libraries before others"


def can_jump() -> bool:
    """Whether clocks can be made to jump here."""
    return os.uname().sysname == "Linux" and shutil.which("cc") is not None


def jumping_clock(folder: Path) -> Mapping[str, str]:
    """The variables with which processes have such a clock."""
    source, library = folder / "clock.c", folder / "clock.so"
    source.write_text(_SOURCE % DAY_S)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    return {"LD_PRELOAD": str(library)}
