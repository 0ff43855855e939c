"""What follows from observations, and the tables that studies read."""
