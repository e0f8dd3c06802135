"""Parses parameters of the command line: `-p NAME=VALUE`, or `-p NAME=@FILE` for the content of a file."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode

FILE: Final = "@"
STDIN: Final = "-"
MAX_FILE_BYTES: Final = 256 * 1024
"""Parameters are part of the run object, whose size is limited."""


def parse_parameters(given: Sequence[str]) -> dict[str, str]:
    """Parameters by name. Raises Failure for bad syntax, repeated names and unreadable files."""
    found: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise Failure(f"-p {item}: write -p NAME=VALUE", ExitCode.USAGE)
        if name in found:
            raise Failure(f"-p {name} is specified twice", ExitCode.USAGE)
        found[name] = _value(name, value)
    return found


def _value(name: str, value: str) -> str:
    if not value.startswith(FILE):
        return value
    path = value.removeprefix(FILE)
    if path.startswith(FILE):
        return path
    if not path:
        raise Failure(f"-p {name}=@: add a file name after @, or write @@ for a literal @", ExitCode.USAGE)
    what = "standard input" if path == STDIN else path
    try:
        data = _read(path)
    except OSError as error:
        raise Failure(
            f"-p {name}=@{path}: cannot read {what}: {error.strerror or error} "
            f"(write {name}=@@{path} for the literal text)",
            ExitCode.USAGE,
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise Failure(
            f"-p {name}=@{path}: {what} exceeds {MAX_FILE_BYTES:,} bytes, the limit for a parameter: "
            "have the step read the file instead",
            ExitCode.USAGE,
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Failure(
            f"-p {name}=@{path}: {what} is not UTF-8 text (byte {error.start:,}): encode it first, for example "
            "with base64",
            ExitCode.USAGE,
        ) from error


def _read(path: str) -> bytes:
    """Up to one byte more than allowed, which shows that the file is too large."""
    if path == STDIN:
        return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)
