"""The Python target: a Program as the NumPy source that a person would have written."""
