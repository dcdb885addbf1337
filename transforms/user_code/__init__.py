"""The user's code under a transform: a scope of its own, in which NumPy, SciPy, math and random take Tensors."""
