"""Facts about a graph that passes and the schedule share: memory, effects, ranges of ints."""
