"""Metrics of a process. Imports nothing of jangar; processes wire it by callbacks."""
