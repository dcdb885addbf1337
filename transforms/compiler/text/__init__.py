"""Text: a graph as the source that a person would have written."""
