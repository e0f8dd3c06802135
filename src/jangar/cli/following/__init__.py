"""Follows a run: reads it as it changes, shows it as a tree or as lines, and lets the user detach or cancel."""
