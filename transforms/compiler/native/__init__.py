"""The native target: a Program as one C function, its build, and how Python calls it."""
