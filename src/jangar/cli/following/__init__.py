"""A run while it goes on: read as it changes, shown as a tree or as lines, and left, cancelled or waited for."""
