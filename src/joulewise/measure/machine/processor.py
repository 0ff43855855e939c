"""Which processor this is and what surrounds it: bare metal, a virtual machine or a container."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass, field
from pathlib import Path

from joulewise.measure.machine.system_files import text_of

ARM = "ARM"
_ARM_PARTS = {
    ("0x41", "0xd03"): "Cortex-A53", ("0x41", "0xd08"): "Cortex-A72", ("0x41", "0xd0b"): "Cortex-A76",
    ("0x41", "0xd0c"): "Neoverse-N1", ("0x41", "0xd40"): "Neoverse-V1", ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2", ("0x41", "0xd8e"): "Neoverse-N3", ("0x43", "0x0af"): "ThunderX2",
    ("0x46", "0x001"): "A64FX", ("0x48", "0xd01"): "Kunpeng-920", ("0xc0", "0xac3"): "Ampere-1",
    ("0xc0", "0xac4"): "Ampere-1a",
}  # fmt: skip
"""Names of processors that give only numbers: (implementer, part)."""
_NAME_KEYS = ("model name", "cpu model", "cpu")
_CONTAINER_MARKS = (".dockerenv", "run/.containerenv", "run/systemd/container")
_VIRTUAL_VENDORS = ("QEMU", "KVM", "VMware", "Xen", "innotek", "Amazon EC2", "Google", "OpenStack")


@dataclass(frozen=True)
class Processor:
    """Its name as people know it, who made it, its family (0 where there is none) and what it says that it can do."""

    name: str
    vendor: str = ""
    family: int = 0
    flags: frozenset[str] = field(default=frozenset())


def read_processor(root: Path = Path("/")) -> Processor:
    """What /proc/cpuinfo says of the first core."""
    first = text_of(root / "proc/cpuinfo").partition("\n\n")[0]
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    vendor = fields.get("vendor_id", ARM if "CPU implementer" in fields else "")
    family = fields.get("cpu family", "")
    flags = fields.get("flags", fields.get("Features", ""))
    return Processor(_name(fields), vendor, int(family) if family.isdigit() else 0, frozenset(flags.split()))


def _name(fields: dict[str, str]) -> str:
    for key in _NAME_KEYS:
        if fields.get(key):
            return re.sub(r"\s+", " ", fields[key])
    if "CPU implementer" not in fields:
        return platform.machine() or "unknown processor"
    maker, part = fields["CPU implementer"], fields.get("CPU part", "?")
    return _ARM_PARTS.get((maker, part), f"ARM processor (implementer {maker}, part {part})")


def surroundings(root: Path = Path("/")) -> str:
    """What surrounds this process: "a virtual machine", "a container", both, or nothing that shows."""
    layers = [
        name
        for name, is_so in (("a container", _is_container(root)), ("a virtual machine", _is_virtual(root)))
        if is_so
    ]
    return " in ".join(layers)


def _is_container(root: Path) -> bool:
    if any((root / mark).exists() for mark in _CONTAINER_MARKS):
        return True
    return bool(re.search(r"docker|kubepods|lxc|libpod", text_of(root / "proc/1/cgroup")))


def _is_virtual(root: Path) -> bool:
    if "hypervisor" in read_processor(root).flags or (root / "sys/hypervisor/type").exists():
        return True
    if any((root / "sys/bus/virtio/devices").glob("*")):
        return True
    vendor = text_of(root / "sys/class/dmi/id/sys_vendor")
    product = text_of(root / "sys/class/dmi/id/product_name")
    return any(name in vendor for name in _VIRTUAL_VENDORS) and "metal" not in product
