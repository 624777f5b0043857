"""Models that run in this process, on weights that the operator has."""
