"""Writes, eager and in transforms, traced values that outlive a transform, and checkpoints, which keep few of them."""
