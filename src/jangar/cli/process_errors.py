"""How a process command ends when it cannot go on: one sentence for the user and an exit code, never a traceback."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import write_error


@contextmanager
def errors_as_sentences(command: str, *, log: Path | None = None) -> Iterator[None]:
    """End the process with a sentence about what fails the block. What is a mistake of ours stays an error.

    Parts run in task groups: the cause may be deep inside of groups, or behind the error of a part.
    """
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        sentence, code = ending_of(error)
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
    """The traceback, for whoever looks for it; a terminal gets the sentence alone."""
    root = logging.getLogger()
    root.handlers = [each for each in root.handlers if isinstance(each, logging.FileHandler)]
    if root.handlers:
        logging.getLogger("jangar.process").error("ended", exc_info=error)


def ending_of(error: BaseException) -> tuple[str | None, ExitCode]:
    """What to tell the user, and the exit code; no sentence for what is a mistake of ours."""
    from jangar.processes.shortages import causes, shortage  # noqa: PLC0415
    from jangar.settings.reading import BadSettings  # noqa: PLC0415
    from kubekit.cache.namespaces import BadNamespaces  # noqa: PLC0415
    from kubekit.client.connection import NoConnection  # noqa: PLC0415
    from kubekit.controller.manager import PartFailed  # noqa: PLC0415
    from kubekit.private_files import NotPrivate  # noqa: PLC0415
    from kubekit.serving.listening import PortTaken  # noqa: PLC0415
    from picokube import CannotOpen, DirectoryInUse, ForeignDirectory, InUse  # noqa: PLC0415 - not needed for --help  # noqa: PLC0415

    found = list(causes(error))
    for each in found:
        match each:
            case BadSettings() | BadNamespaces() | PortTaken():
                return str(each), ExitCode.USAGE
            case NoConnection():
                return str(each), ExitCode.UNREACHABLE
            case InUse() | DirectoryInUse():
                return str(each), ExitCode.FAILED
            case CannotOpen() | ForeignDirectory() | NotPrivate():
                return shortage(error) or str(each), ExitCode.FAILED
            case _:
                continue
    if (missing := shortage(error)) is not None:
        return missing, ExitCode.FAILED
    for each in found:
        match each:
            case PartFailed() | TimeoutError():
                return str(each) or "a part was not ready in time", ExitCode.FAILED
            case OSError():
                name = f": {each.filename}" if each.filename else ""
                return f"{(each.strerror or str(each)).lower()}{name}", ExitCode.FAILED
            case _:
                continue
    return None, ExitCode.FAILED
