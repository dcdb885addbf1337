"""The losses as objects, by the names of torch.nn."""
