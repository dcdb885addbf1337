"""The schedule: from a Graph to a Program, with its order, buffers, tiles, stores and frees."""
