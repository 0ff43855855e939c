"""What a study consists of: sections with their parameters, points, runs and columns."""
