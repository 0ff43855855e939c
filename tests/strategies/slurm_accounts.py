"""Accounts of a real Slurm on this host: a database of its own under the Slurm's folder, and who may have how much."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from tests.strategies import slurm as alone
from tests.strategies.slurm import Slurm

NEEDED = ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacctmgr", "sacct")
WHY_NOT = f"{alone.WHY_NOT} slurmdbd mariadb-server-core mariadb-client-core"

_DATABASE = """AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
DbdHost=localhost
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounts
"""
_CONTROLLER = """AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.sock
"""


def can_run() -> bool:
    """Whether a Slurm with accounts can be started here."""
    return alone.can_run() and all(map(shutil.which, NEEDED))


def keep_accounts(slurm: Slurm) -> None:
    """Start what keeps the accounts of a Slurm; to be called before its controller is started.

    Its settings must have AccountingStorageType=accounting_storage/slurmdbd.
    """
    folder = slurm.folder
    socket = f"--socket={folder}/db.sock"
    made = ("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={folder}/db", "--skip-test-db")
    subprocess.run((*made, "--auth-root-authentication-method=normal"), check=True, capture_output=True, timeout=60)
    slurm.start(
        "mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/db", socket, "--skip-networking",
        f"--pid-file={folder}/db.pid", "--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync", "--sync-frm=0", "--innodb-doublewrite=0",
    )  # fmt: skip
    slurm.wait(lambda: _succeeds(slurm, "mariadb", "--no-defaults", "--user=root", socket, "--execute=select 1"))
    conf = folder / "slurmdbd.conf"
    conf.touch(0o600)
    conf.write_text(_DATABASE.format(folder=folder, port=slurm.spare_port))
    with (folder / "slurm.conf").open("a") as settings:
        settings.write(_CONTROLLER.format(folder=folder, port=slurm.spare_port))
    slurm.start("slurmdbd", "-D")
    slurm.wait(lambda: _succeeds(slurm, "sacctmgr", "--noheader", "show", "cluster"))
    slurm.call("sacctmgr", "--immediate", "add", "cluster", "joulewise")


def tell_accounts(slurm: Slurm, commands: Sequence[str]) -> None:
    """Have sacctmgr say this to a Slurm that runs, which has then told its database what it counts."""
    for command in commands:
        slurm.call("sacctmgr", "--immediate", *command.split())


def _succeeds(slurm: Slurm, *command: str) -> bool:
    with suppress(AssertionError):
        slurm.call(*command)
        return True
    return False
