"""Checks of derivatives: eager, compiled and finite differences held against each other, for functions and for rules."""
