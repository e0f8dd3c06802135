"""Draws graphs as text. Pure: a graph in, lines out."""
