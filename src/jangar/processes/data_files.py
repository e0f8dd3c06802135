"""Restricts a data directory and its files to their owner."""

from pathlib import Path
from typing import Final

from kubekit.private_files import private_directory

DATA_FILE_PREFIXES: Final = (
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
"""Prefixes of the file names that Jangar creates."""


def private_data_directory(directory: Path) -> None:
    """Create the directory if it is missing and remove access of other users. Raises NotPrivate and OSError."""
    private_directory(directory, DATA_FILE_PREFIXES)
