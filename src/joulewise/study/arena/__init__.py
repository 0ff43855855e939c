"""The arena: policies compared on fixed sets of worlds, each with a proven bound."""
