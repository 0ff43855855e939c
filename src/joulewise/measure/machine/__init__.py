"""The machine as its kernel shows it: cores, clocks, limits, and who else uses it."""
