"""Measured claims: `python -m benchmarks NAME --json` prints figures and the bars they must hold."""
