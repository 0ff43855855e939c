"""The kernel's small files of machines of several generations, written below a folder as these machines show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from joulewise.measure.machine.system_files import core_list, cores_in

CPU = "sys/devices/system/cpu"
RAPL = "sys/class/powercap"
BOOT = "proc/sys/kernel/random/boot_id"


def write(root: Path, files: Mapping[str, object]) -> Path:
    """Write files below a root, each with the line end that the kernel gives."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    return root


def cores(root: Path, n: int, siblings: Sequence[str] = (), name: str = "core_cpus_list") -> None:
    """Cores 0 to n-1 that are all online, with the lists of logical cores that share a physical one."""
    write(root, {f"{CPU}/online": f"0-{n - 1}", "proc/self/status": f"Cpus_allowed_list:\t0-{n - 1}"})
    groups = {core: group for group in siblings for core in cores_in(group)}
    write(root, {f"{CPU}/cpu{core}/topology/{name}": groups.get(core, core) for core in range(n)})


def caches(root: Path, index: int, level: int, kind: str, size: str, groups: Sequence[str]) -> None:
    """One cache for every list of cores."""
    for group in groups:
        for core in cores_in(group):
            folder = f"{CPU}/cpu{core}/cache/index{index}"
            write(
                root,
                {
                    f"{folder}/level": level,
                    f"{folder}/type": kind,
                    f"{folder}/size": size,
                    f"{folder}/shared_cpu_list": group,
                },
            )


def policies(root: Path, groups: Sequence[str], files: Mapping[str, object]) -> None:
    """One folder of cpufreq for every list of cores, which their folders point to."""
    for group in groups:
        first = cores_in(group)[0]
        folder = f"{CPU}/cpufreq/policy{first}"
        write(root, {f"{folder}/{name}": value for name, value in files.items()})
        for core in cores_in(group):
            (root / CPU / f"cpu{core}").mkdir(parents=True, exist_ok=True)
            (root / CPU / f"cpu{core}/cpufreq").symlink_to(f"../cpufreq/policy{first}")


def counter(root: Path, zone: str, name: str, energy_uj: int, range_uj: int) -> None:
    """One counter of RAPL."""
    folder = f"{RAPL}/{zone}"
    write(
        root,
        {f"{folder}/name": name, f"{folder}/energy_uj": energy_uj, f"{folder}/max_energy_range_uj": range_uj},
    )


def unit(root: Path, name: str, files: Mapping[str, object]) -> Path:
    """A counting unit: a folder, and a link to it among the sources of events."""
    write(root, {f"sys/devices/{name}/{file}": value for file, value in files.items()})
    links = root / "sys/bus/event_source/devices"
    links.mkdir(parents=True, exist_ok=True)
    (links / name).symlink_to(f"../../../devices/{name}")
    return root


def cpuinfo(root: Path, fields: Mapping[str, str]) -> None:
    """The first core in /proc/cpuinfo."""
    lines = [f"{name}\t: {value}" for name, value in fields.items()]
    write(root, {"proc/cpuinfo": "\n".join(["processor\t: 0", *lines, "", "processor\t: 1"])})


def ivy_bridge(root: Path) -> Path:
    """An Intel desktop of 2012 (as published in chapter 8): four cores with two threads, steps of acpi-cpufreq."""
    cpuinfo(root, {"vendor_id": "GenuineIntel", "model name": "Intel(R) Core(TM) i7-3770 CPU  @ 3.40GHz"})
    pairs = ["0,4", "1,5", "2,6", "3,7"]
    cores(root, 8, pairs, name="thread_siblings_list")
    caches(root, 0, 1, "Data", "32K", pairs)
    caches(root, 1, 1, "Instruction", "32K", pairs)
    caches(root, 2, 2, "Unified", "256K", pairs)
    caches(root, 3, 3, "Unified", "8192K", ["0-7"])
    for core in range(8):  # as old kernels have it: a folder of its own for each core
        write(root, {f"{CPU}/cpu{core}/cpufreq/{name}": value for name, value in ACPI.items()})
    counter(root, "intel-rapl:0", "package-0", 65_000_000_000, 65_532_610_987)
    counter(root, "intel-rapl:0:0", "core", 40_000_000_000, 65_532_610_987)
    counter(root, "intel-rapl:0:1", "uncore", 1_000_000_000, 65_532_610_987)
    chip = "sys/class/hwmon/hwmon1"
    write(root, {f"{chip}/name": "coretemp", f"{chip}/temp1_input": 61000, f"{chip}/temp2_input": 63000})
    return write(root, {"proc/meminfo": "MemTotal:       16374452 kB", "proc/sys/kernel/perf_event_paranoid": 1})


ACPI = {
    "scaling_driver": "acpi-cpufreq",
    "scaling_available_frequencies": "3401000 3400000 2600000 1700000 1600000",
    "scaling_available_governors": "conservative ondemand userspace powersave performance",
    "scaling_governor": "ondemand",
    "scaling_min_freq": "1600000",
    "scaling_max_freq": "3401000",
    "scaling_cur_freq": "1600000",
    "cpuinfo_min_freq": "1600000",
    "cpuinfo_max_freq": "3401000",
}
PSTATE = {
    "scaling_driver": "intel_pstate",
    "scaling_available_governors": "performance powersave",
    "scaling_governor": "powersave",
    "scaling_min_freq": "800000",
    "scaling_max_freq": "3900000",
    "scaling_cur_freq": "2100000",
    "cpuinfo_min_freq": "800000",
    "cpuinfo_max_freq": "3900000",
    "base_frequency": "2600000",
}


def xeon(root: Path) -> Path:
    """An Intel server with two sockets of two cores and two threads, intel_pstate, memory counted on its own."""
    cpuinfo(root, {"vendor_id": "GenuineIntel", "model name": "Intel(R) Xeon(R) Gold 6240 CPU @ 2.60GHz"})
    pairs = ["0,4", "1,5", "2,6", "3,7"]
    sockets = ["0,2,4,6", "1,3,5,7"]
    cores(root, 8, pairs)
    caches(root, 2, 2, "Unified", "1024K", pairs)
    caches(root, 3, 3, "Unified", "25344K", sockets)
    write(root, {f"sys/devices/system/node/node{n}/cpulist": socket for n, socket in enumerate(sockets)})
    policies(root, [str(core) for core in range(8)], PSTATE)
    for socket in range(2):
        counter(root, f"intel-rapl:{socket}", f"package-{socket}", 1_000_000_000 * (socket + 1), 262_143_328_850)
        counter(root, f"intel-rapl:{socket}:0", "dram", 500_000_000, 65_712_999_613)
        counter(root, f"intel-rapl-mmio:{socket}", f"package-{socket}", 7, 262_143_328_850)
    counter(root, "intel-rapl:2", "psys", 9_000_000_000, 262_143_328_850)
    return root


def epyc(root: Path) -> Path:
    """An AMD server with four last-level caches of two cores, one of them half switched off."""
    cpuinfo(root, {"vendor_id": "AuthenticAMD", "cpu family": "25", "model name": "AMD EPYC 7313 Processor"})
    pairs = [f"{core},{core + 8}" for core in range(8)]
    cores(root, 16, pairs)
    write(root, {f"{CPU}/online": "0,2-15"})
    caches(root, 2, 2, "Unified", "512K", pairs)
    caches(root, 3, 3, "Unified", "32768K", [core_list((a, a + 1, a + 8, a + 9)) for a in (0, 2, 4, 6)])
    policies(root, [str(core) for core in range(16)], ACPI | {"scaling_available_frequencies": "3000000 1500000"})
    counter(root, "intel-rapl:0", "package-0", 1_000_000, 65_532_610_987)
    counter(root, "intel-rapl:0:0", "core", 1_000_000, 65_532_610_987)
    chip = "sys/class/hwmon/hwmon0"
    return write(
        root,
        {
            f"{chip}/name": "k10temp",
            f"{chip}/temp1_input": 82000,
            f"{chip}/temp1_label": "Tctl",
            f"{chip}/temp2_input": 55000,
            f"{chip}/temp2_label": "Tdie",
        },
    )


def arm_server(root: Path) -> Path:
    """An ARM server: four cores with no threads, one clock for two cores, no RAPL, a thermal zone, a power meter."""
    cpuinfo(root, {"CPU implementer": "0x41", "CPU part": "0xd0c", "Features": "fp asimd"})
    cores(root, 4)
    caches(root, 2, 2, "Unified", "1024K", ["0", "1", "2", "3"])
    caches(root, 3, 3, "Unified", "32768K", ["0-3"])
    policies(root, ["0-1", "2-3"], PSTATE | {"scaling_driver": "cppc_cpufreq"})
    zone, meter = "sys/class/thermal/thermal_zone", "sys/class/hwmon/hwmon1/device/power1"
    return write(
        root,
        {
            f"{zone}0/type": "gpu-thermal",
            f"{zone}0/temp": 90000,
            f"{zone}1/type": "cpu-thermal",
            f"{zone}1/temp": 47000,
            f"{zone}2/type": "cpu-thermal",
            f"{zone}2/temp": 999000,
            f"{meter}_average": 87500000,
            f"{meter}_oem_info": "CPU Power Socket 0",
            "sys/class/hwmon/hwmon0/power1_input": 0,
        },
    )


def hybrid(root: Path) -> Path:
    """A hybrid Intel processor: two fast cores with two threads, four small ones that share an L2 cache."""
    cpuinfo(root, {"vendor_id": "GenuineIntel", "model name": "12th Gen Intel(R) Core(TM) i5-1240P"})
    cores(root, 8, ["0-1", "2-3"])
    caches(root, 0, 1, "Data", "48K", ["0-1", "2-3"])
    caches(root, 2, 2, "Unified", "1280K", ["0-1", "2-3"])
    caches(root, 2, 2, "Unified", "2048K", ["4-7"])
    caches(root, 3, 3, "Unified", "12288K", ["0-7"])
    policies(root, [str(core) for core in range(4)], PSTATE | {"cpuinfo_max_freq": "4400000"})
    policies(root, [str(core) for core in range(4, 8)], PSTATE | {"cpuinfo_max_freq": "3300000"})
    unit(root, "cpu_core", {"type": 4, "cpus": "0-3", "events/instructions": "event=0xc0"})
    unit(root, "cpu_atom", {"type": 10, "cpus": "4-7", "events/instructions": "event=0xc0"})
    return unit(root, "uncore_imc_0", {"type": 20, "cpumask": "0"})


def big_little(root: Path) -> Path:
    """An ARM board with four small cores and two fast ones, whose caches a unit of their own counts for."""
    cpuinfo(root, {"CPU implementer": "0x41", "CPU part": "0xd03", "Features": "fp asimd"})
    cores(root, 6)
    own = {"events/inst_retired": "event=0x0008", "events/cpu_cycles": "event=0x0011"}
    unit(root, "armv8_cortex_a53", {"type": 7, "cpus": "0-3", **own})
    unit(root, "armv8_cortex_a72", {"type": 8, "cpus": "4-5", "events/ll_cache_miss_rd": "event=0x0037", **own})
    return unit(root, "arm_dsu_0", {"type": 9, "cpumask": "0", "associated_cpus": "0-5"})


def container(root: Path) -> Path:
    """A container that sees hardly anything: no folders of cores, and a limit of time and memory."""
    (root / ".dockerenv").mkdir(parents=True)
    return write(
        root,
        {
            "proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n\nprocessor\t: 1\n\nprocessor\t: 2",
            "proc/self/status": "Name:\tpython\nSeccomp:\t2\nCpus_allowed_list:\t0-1",
            "proc/meminfo": "MemTotal:       16374452 kB",
            "proc/self/cgroup": "0::/job/7",
            "sys/fs/cgroup/job/cpu.max": "150000 100000",
            "sys/fs/cgroup/job/7/cpu.max": "max 100000",
            "sys/fs/cgroup/job/7/memory.max": 1 << 30,
        },
    )
