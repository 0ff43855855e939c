"""A machine of which everything is known, to hold the analysis against."""
