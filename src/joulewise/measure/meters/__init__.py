"""What can be read while programs run: counters, energy, heat and clocks."""
