"""Time for bags of tasks: customers who bring them one after the other."""
