"""Who computes jobs: this process, local processes."""
