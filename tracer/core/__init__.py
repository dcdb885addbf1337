"""The engine: the base of Tensor, apply, the dynamic graph, and the walks backward and forward."""
