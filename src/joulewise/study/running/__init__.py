"""Studies run to their end: planned, estimated, computed by processes."""
