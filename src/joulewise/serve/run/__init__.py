"""Studies edited and run from the workbench: texts, what the checks say of them, and a queue of runs."""
