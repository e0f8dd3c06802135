"""Measured figures, each beside its goal. `make bench` runs them all."""
