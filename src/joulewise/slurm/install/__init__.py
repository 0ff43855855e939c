"""What an administrator installs beside Slurm: the script that holds jobs, units for systemd, and check-lists."""
