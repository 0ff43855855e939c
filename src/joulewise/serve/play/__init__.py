"""A small world to play with: a day that is over in a moment, beside what nobody could beat, and five lessons."""
