"""Compiled code for nodes in a room with its air and cooling."""
