"""Modes: what holds for the running thread."""
