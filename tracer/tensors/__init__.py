"""Tensor: its operators and methods, NumPy's and PyTorch's, its constructors, and how it prints."""
