"""What describes a site: its nodes, partitions and limits, read from its own files or from a Slurm's."""
