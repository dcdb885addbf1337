"""Writes, eager and in transforms, and what outlives a transform."""
