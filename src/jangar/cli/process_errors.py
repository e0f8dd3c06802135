"""How a process command ends when it cannot go on: one sentence for the user and an exit code, never a traceback."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import write_error


@contextmanager
def report_process_errors(command: str, *, log: Path | None = None) -> Iterator[None]:
    """End the process with a sentence about what fails the block. What is a mistake of ours stays an error.

    Parts run in task groups: the cause may be deep inside of groups, or behind the error of a part.
    """
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        sentence, code = describe_failure(error)
        if sentence is None:
            raise
        _log_to_file(error)
        where = f"; see {log}" if log is not None and code is ExitCode.FAILED else ""
        lines = sentence.splitlines()
        for line in lines[:-1]:
            write_error(f"jangar {command}: {line}")
        write_error(f"jangar {command}: {lines[-1]}{where}")
        raise typer.Exit(code) from None


def _log_to_file(error: Exception) -> None:
    """Write the traceback to the log file; the terminal gets only the message."""
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if isinstance(handler, logging.FileHandler)]
    if root.handlers:
        logging.getLogger("jangar.process").error("process failed", exc_info=error)


def describe_failure(error: BaseException) -> tuple[str | None, ExitCode]:
    """What to tell the user, and the exit code; no sentence for what is a mistake of ours."""
    from jangar.processes.shortages import causes, shortage  # noqa: PLC0415
    from jangar.settings.variables import BadSettings  # noqa: PLC0415
    from kubekit.cache.namespaces import BadNamespaces  # noqa: PLC0415
    from kubekit.client.connection import NoConnection  # noqa: PLC0415
    from kubekit.controller.manager import PartFailed  # noqa: PLC0415
    from kubekit.private_files import NotPrivate  # noqa: PLC0415
    from kubekit.serving.listening import PortTaken  # noqa: PLC0415
    from picokube import CannotOpen, DirectoryInUse, ForeignDirectory, InUse  # noqa: PLC0415 - not needed for --help  # noqa: PLC0415

    found = list(causes(error))
    for item in found:
        match item:
            case BadSettings() | BadNamespaces() | PortTaken():
                return str(item), ExitCode.USAGE
            case NoConnection():
                return str(item), ExitCode.UNREACHABLE
            case InUse() | DirectoryInUse():
                return str(item), ExitCode.FAILED
            case CannotOpen() | ForeignDirectory() | NotPrivate():
                return shortage(error) or str(item), ExitCode.FAILED
            case _:
                continue
    if (missing := shortage(error)) is not None:
        return missing, ExitCode.FAILED
    for item in found:
        match item:
            case PartFailed() | TimeoutError():
                return str(item) or "a component was not ready in time", ExitCode.FAILED
            case OSError():
                name = f": {item.filename}" if item.filename else ""
                return f"{(item.strerror or str(item)).lower()}{name}", ExitCode.FAILED
            case _:
                continue
    return None, ExitCode.FAILED
