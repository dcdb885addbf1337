"""Modes of the running thread."""
