"""Runs as commands read and change them through any API."""
