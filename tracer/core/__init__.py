"""The engine: what a Tensor is to it, the door for operations, the dynamic graph, and the walks backward and forward."""
