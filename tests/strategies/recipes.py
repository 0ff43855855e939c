"""The recipes of containers, read and followed without an engine: in a folder that holds a root, by chroot."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.strategies.sources import PACKAGE

ROOT = PACKAGE.parents[1]
RECIPES = {"docker": ROOT / "containers" / "Dockerfile", "apptainer": ROOT / "containers" / "joulewise.def"}


class Recipe(NamedTuple):
    """What a container is made of: its base, what is copied where, what then runs, and the command that it is."""

    base: str
    copied: dict[str, str]
    commands: list[str]
    command: str


def recipe_of(path: Path) -> Recipe:
    """What a recipe says; KeyError or ValueError where it says what is not known here."""
    read = _of_docker if path.name == "Dockerfile" else _of_apptainer
    return read([line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"])


def _of_docker(lines: Sequence[str]) -> Recipe:
    said: dict[str, list[str]] = {"FROM": [], "COPY": [], "RUN": [], "WORKDIR": [], "ENTRYPOINT": []}
    for line in lines:
        word, _, rest = line.partition(" ")
        said[word].append(rest)
    copies = [line.split() for line in said["COPY"]]
    copied = {
        source: f"{target}{Path(source).name}" if target.endswith("/") else target
        for *sources, target in copies
        for source in sources
    }
    (base,), (command,) = said["FROM"], said["ENTRYPOINT"]
    return Recipe(base, copied, said["RUN"], command.strip('[]"'))


def _of_apptainer(lines: Sequence[str]) -> Recipe:
    said: dict[str, list[str]] = {"": [], "%files": [], "%post": [], "%runscript": [], "%test": []}
    section = ""
    for line in lines:
        if line.startswith("%"):
            section = line
        else:
            said[section].append(line.strip())
    header = dict(line.split(": ") for line in said[""])
    copied = dict(line.split() for line in said["%files"])
    (command,) = said["%runscript"]
    return Recipe(header["From"], copied, said["%post"] + said["%test"], command.removesuffix(' "$@"'))


def copy_into(root: Path, recipe: Recipe) -> None:
    """Copy what a recipe copies."""
    for source, target in recipe.copied.items():
        place = root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, place)


def run_inside(root: Path, command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell in a root, with devices and processes mounted for it alone."""
    mounted = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounted, str(root), command],
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **environment},
        capture_output=True,
        text=True,
    )
