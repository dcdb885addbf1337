"""Writes, eager and in transforms, and traced values that outlive a transform."""
