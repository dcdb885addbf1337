"""Control flow in functional form: Python functions rewritten so that loops and branches call operators."""
