"""Running programs and writing down what came of it."""
