"""The engine: the state of the thread, the base of Tensor, apply, the dynamic graph, and the walks backward and forward."""
