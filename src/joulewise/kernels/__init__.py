"""Compiled code on arrays: no objects, no files, no policy names. Imports numpy and numba only."""
