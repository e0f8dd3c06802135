"""Entry point of `jangar`. Users see no traceback."""

import gc
import io
import os
import sys
from typing import NoReturn

from jangar.cli.exit_codes import ExitCode

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Imported objects stay; collecting garbage among them would take a fifth of the startup time."""


def run() -> NoReturn:
    """The entry point. typer handles usage errors and exit codes; all other errors are handled here."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Escape characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.argv[1:2] == ["runner"]:
            _run_command()
        from jangar.cli.app import app  # noqa: PLC0415 - Ctrl-C during the import must be quiet too

        if "_JANGAR_COMPLETE" in os.environ:
            from jangar.cli.commands.installation import complete  # noqa: PLC0415 - seldom needed

            complete()
        app(prog_name="jangar")
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None
    except (Exception, BaseExceptionGroup) as error:
        if os.environ.get("JANGAR_DEBUG"):
            raise
        _end(_describe(error))
    raise SystemExit(ExitCode.OK)


def _run_command() -> None:
    """Run `jangar runner` without importing the other commands, because every agent container starts with it."""
    from jangar.runner.process import parse_command_line, run  # noqa: PLC0415

    if (options := parse_command_line(sys.argv[2:])) is not None:
        raise SystemExit(run(options, os.environ))


def _describe(error: BaseException) -> str:
    """A sentence about a missing resource or an internal error; of an error group, about the first error."""
    from jangar.processes.shortages import shortage  # noqa: PLC0415 - seldom needed

    if (missing := shortage(error)) is not None:
        return missing
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    return f"internal error: {type(error).__name__}: {error} (set JANGAR_DEBUG=1 for details, and report it)"


def _end(message: str) -> NoReturn:
    from jangar.cli.terminal import write_error  # noqa: PLC0415

    write_error(f"jangar: {message}")
    raise SystemExit(ExitCode.FAILED)
