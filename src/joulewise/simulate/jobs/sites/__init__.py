"""Jobs on sites over time: what the kernels work on is made of a world, and read back from them."""
