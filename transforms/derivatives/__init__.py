"""Function to function: gradients, products with vectors, Jacobians, Hessians, vmap, and derivatives of one's own."""
