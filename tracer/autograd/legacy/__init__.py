"""PyTorch 0.1 to 0.3: Variable, Functions with instances, stochastic nodes. Nothing else imports it but on demand."""
