"""A site from the files of a Slurm: nodes that are alike become groups, partitions keep their limits."""

from __future__ import annotations
