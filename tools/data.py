"""Where data from outside the project lies, for the tools and tests that use it; the package itself never does."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "JOULEWISE_DATA"
PACKAGE_DATA = Path(__file__).parent.parent / "src" / "joulewise" / "worlds" / "data"
"""Where the package keeps the small tables that tools make."""


def data_folder() -> Path | None:
    """The folder that the variable JOULEWISE_DATA names, else `../shared/data` beside the checkout, if there is one."""
    beside = Path(__file__).parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get(VARIABLE) or beside)
    return folder if folder.is_dir() else None
