"""The files of a data directory, which belongs to its owner alone."""

from pathlib import Path
from typing import Final

from kubekit.private_files import private_directory

OURS: Final = (
    "objects.db",
    "history.sqlite",
    "tokens.json",
    "kubeconfig",
    "page-token",
    "page-port",
    "server.log",
    "laptop.json",
    "laptop.lock",
    "installed-kinds",
    "node-agent-of",
)
"""Prefixes of the names of our files."""


def private_data_directory(directory: Path) -> None:
    """Make it if it is missing, and take other users' rights away. Raises NotPrivate and OSError."""
    private_directory(directory, OURS)
