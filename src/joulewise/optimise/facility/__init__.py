"""Search with proof for nodes in a room with its air and cooling."""
