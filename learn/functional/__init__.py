"""The functions of networks, by the names and arguments of torch.nn.functional, on arrays and Tensors alike."""
