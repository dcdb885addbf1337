"""Function to function: gradients, compilation, comparison. Each module is loaded at the first use of what it has."""
