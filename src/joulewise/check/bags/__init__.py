"""The independent validator of bags of tasks that are all there at once."""
