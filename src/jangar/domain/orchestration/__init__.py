"""Orchestrations: definitions and their validation, the planner of runs, their status, and explanations.

Imports: jangar.api, jangar.domain.
"""
