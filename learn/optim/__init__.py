"""Optimisers by the names of torch.optim, for Tensors with `.grad` and for pytrees of arrays."""
