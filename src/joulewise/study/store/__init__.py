"""The results folder: what is kept of runs, and how it is read back."""
