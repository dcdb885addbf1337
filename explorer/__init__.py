"""The explorer: the command line and its demo."""
