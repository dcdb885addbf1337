"""Capture: what the user's function does and reads, written down while it runs."""
