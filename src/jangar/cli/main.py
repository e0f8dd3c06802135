"""Where the process `jangar` begins and ends: no traceback reaches a user."""

import gc
import io
import os
import sys
from typing import NoReturn

from jangar.cli.exit_codes import ExitCode

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Importing makes objects that stay: looking for cycles among them would take a fifth of the start."""


def run() -> NoReturn:
    """The entry point. Usage errors, Ctrl-C and exit codes are typer's; whatever else goes wrong ends here."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        if sys.argv[1:2] == ["runner"]:
            _run_command()
        from jangar.cli.app import app  # noqa: PLC0415 - so that Ctrl-C during the import is quiet too

        if "_JANGAR_COMPLETE" in os.environ:
            from jangar.cli.commands.installation import complete  # noqa: PLC0415 - seldom needed

            complete()
        app(prog_name="jangar")
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None
    except (Exception, BaseExceptionGroup) as error:
        if os.environ.get("JANGAR_DEBUG"):
            raise
        _end(_sentence(error))
    raise SystemExit(ExitCode.OK)


def _run_command() -> None:
    """`jangar runner` without what the other commands need: every container of an agent starts with it."""
    from jangar.runner.command_line import asked_by  # noqa: PLC0415
    from jangar.runner.process import run as run_command  # noqa: PLC0415

    if (asked := asked_by(sys.argv[2:])) is not None:
        raise SystemExit(run_command(asked, os.environ))


def _sentence(error: BaseException) -> str:
    """What the machine refused, or that it is a mistake of ours; of a group of errors the first one."""
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
