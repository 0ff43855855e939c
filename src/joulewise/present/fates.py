"""What may become of tasks and jobs, each fate with its name and colour."""

from __future__ import annotations

from joulewise.present import theme

FATES = {
    "completed": ("completed", theme.PALETTE[0]),
    "dropped": ("dropped", theme.PALETTE[5]),
    "killed": ("killed at the limit of their time", theme.PALETTE[1]),
    "open": ("not completed when the time ended", theme.NOTHING),
}
