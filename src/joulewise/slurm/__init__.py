"""The bridge to a real Slurm: what it says is read, what the policies of this project decide, it is told."""
