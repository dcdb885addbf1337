"""Random numbers: our own generator, and the states of all that a function may draw from."""
