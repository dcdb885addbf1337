"""The IR: graphs of NumPy calls in single assignment, loops and branches as ops, the interpreter and the verifier."""
