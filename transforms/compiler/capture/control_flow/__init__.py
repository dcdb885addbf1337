"""Loops and branches while capturing: their bodies traced once, as graphs, and the VJPs of what runs those."""
