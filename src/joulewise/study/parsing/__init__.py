"""From the text of a study file to a study with all its points, and the keys that it may have."""
