"""Capture: the operations and reads of the user's function, recorded while it runs."""
