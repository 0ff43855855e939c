"""Search with proof: bounds, linear programs, fronts, plans."""
