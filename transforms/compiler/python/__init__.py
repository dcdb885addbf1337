"""The Python target: a graph as the NumPy source that a person would have written."""
