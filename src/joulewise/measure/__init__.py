"""The co-location laboratory: real programs alone and together, at each clock, and the tables that come of it."""
