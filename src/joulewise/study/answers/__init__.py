"""What came out: results read back, means, intervals and differences."""
