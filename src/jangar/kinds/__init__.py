"""Kinds of steps and kinds of runs: one folder each, one row each in `registry`. Pure.

Imports: jangar.api.
"""
