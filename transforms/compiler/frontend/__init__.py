"""The frontend: the user's function becomes the same function with hooks, for loops, branches and the scope."""
