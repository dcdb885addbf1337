"""The driver: signatures, guards, specialisations, their checks, and the disk cache."""
