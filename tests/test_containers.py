"""The recipes of containers: what they copy is there, and what they run works in a clean root of packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import joulewise
from tests.strategies.recipes import RECIPES, ROOT, Recipe, copy_into, recipe_of, run_inside

HOST_FILES = (Path("/etc/resolv.conf"), Path("/etc/hosts"), Path("/etc/pip.conf"))
HOST_VARIABLES = re.compile(r"(?i)(https?|no)_proxy|PIP_(EXTRA_)?INDEX_URL")
HOST_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""How this machine reaches others, which an engine would hand on likewise."""


def mirror_of(suite: str) -> str:
    """Where this machine gets the packages of a release; empty where it does not."""
    if shutil.which("apt-get") is None:
        return ""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", f"Codename: {suite}"]
    return next(iter(subprocess.run(command, capture_output=True, text=True).stdout.split()), "")


def suite_of(recipe: Recipe) -> str:
    """The release that a base is: debian:bookworm-slim is bookworm."""
    return recipe.base.removeprefix("debian:").removesuffix("-slim")


@pytest.fixture(params=RECIPES)
def recipe(request: pytest.FixtureRequest) -> Recipe:
    return recipe_of(RECIPES[request.param])


def test_recipes_copy_all_that_an_installation_needs(recipe: Recipe) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {"pyproject.toml", "requirements.lock", "src", project["readme"], *project["license-files"]}
    assert needed <= recipe.copied.keys()
    assert [name for name in recipe.copied if not (ROOT / name).exists()] == []
    assert {target.rpartition("/")[0] for target in recipe.copied.values()} == {"/src"}


def test_recipes_do_the_same() -> None:
    docker, apptainer = (recipe_of(RECIPES[name]) for name in ("docker", "apptainer"))
    assert (docker.base, docker.copied) == (apptainer.base, apptainer.copied)
    assert apptainer.commands[: len(docker.commands)] == docker.commands


@pytest.fixture(scope="module")
def clean_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A root with the least of packages that the base of the recipes has, without anything of this machine."""
    suite = suite_of(recipe_of(RECIPES["docker"]))
    if os.geteuid() != 0:
        pytest.skip("needs root, for chroot")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("needs to be allowed to mount")
    if not (mirror := mirror_of(suite)):
        pytest.skip(f"needs apt, with the packages of {suite}")
    folder = tmp_path_factory.mktemp("clean")
    script = """
        apt-get download debootstrap && dpkg -x debootstrap_*.deb tool &&
        DEBOOTSTRAP_DIR=$PWD/tool/usr/share/debootstrap tool/usr/sbin/debootstrap --variant=minbase "$0" root "$1"
    """
    done = subprocess.run(["sh", "-c", script, suite, mirror], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder / "root"
    shutil.rmtree(folder)


@pytest.mark.thorough("installs an operating system and all libraries")
def test_a_recipe_makes_a_container_that_runs_an_example(recipe: Recipe, clean_root: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    subprocess.run(["cp", "--archive", clean_root, root], check=True)
    for path in filter(Path.exists, HOST_FILES):
        shutil.copy(path, root / path.relative_to("/"))
    shutil.copy(HOST_CERTIFICATES, root / "host.crt")  # where no package puts others in its place
    environment = {name: value for name, value in os.environ.items() if HOST_VARIABLES.fullmatch(name)}
    environment |= {"PIP_CERT": "/host.crt", "SSL_CERT_FILE": "/host.crt"}
    copy_into(root, recipe)
    for command in recipe.commands:
        done = run_inside(root, command, environment)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert not (root / "src").exists()
    (root / "work").mkdir(exist_ok=True)
    for words, said in (
        ("--version", f"joulewise {joulewise.__version__}"),
        ("new --example first", "Wrote first.toml"),
        ("run first.toml", "report"),
    ):
        done = run_inside(root, f"cd /work && {recipe.command} {words}", {})
        assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr
    assert (root / "work" / "results" / "first" / "report.html").is_file()
    shutil.rmtree(root)
