"""Exported modules: a function and its gradient as a file that needs NumPy alone, written and loaded again."""
