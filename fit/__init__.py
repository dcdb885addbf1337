"""Fitting: SciPy's optimisers with exact derivatives, on pytrees."""
