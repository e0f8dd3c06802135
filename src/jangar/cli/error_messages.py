"""Turns expected errors into a sentence with a next step and an exit code, so users see no traceback."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import write_error


@contextmanager
def report_process_errors(command: str, *, log: Path | None = None) -> Iterator[None]:
    """End the process with a sentence and an exit code if the block fails; a bug is raised.

    Parts run in task groups, so the cause may be nested in groups or be the cause of another error.
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
    """The sentence and exit code for an error of a process; no sentence for a bug."""
    from jangar.processes.shortages import causes, shortage  # noqa: PLC0415
    from jangar.settings.variables import BadSettings  # noqa: PLC0415
    from kubekit.cache.namespaces import BadNamespaces  # noqa: PLC0415
    from kubekit.client.connection import NoConnection  # noqa: PLC0415
    from kubekit.controller.manager import PartFailed  # noqa: PLC0415
    from kubekit.private_files import NotPrivate  # noqa: PLC0415
    from kubekit.serving.listening import PortTaken  # noqa: PLC0415
    from picokube import CannotOpen, DirectoryInUse, ForeignDirectory, InUse  # noqa: PLC0415 - not needed for --help  # noqa: PLC0415

    nested = list(causes(error))
    for item in nested:
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
    for item in nested:
        match item:
            case PartFailed() | TimeoutError():
                return str(item) or "a component was not ready in time", ExitCode.FAILED
            case OSError():
                name = f": {item.filename}" if item.filename else ""
                return f"{(item.strerror or str(item)).lower()}{name}", ExitCode.FAILED
            case _:
                continue
    return None, ExitCode.FAILED


def api_error_message(error: Exception, *, is_laptop: bool = False) -> tuple[str, ExitCode] | None:
    """The message and exit code for an error of an operation or the API; None for a bug."""
    from jangar.operations.refusals import ErrorKind, report_error  # noqa: PLC0415 - heavy

    report = report_error(error)
    if report is None:
        return None
    message = report.message
    unreachable_hint = (
        "run jangar status to check whether it is up"
        if is_laptop
        else "check --context and the network, or run jangar up to start an API on this machine"
    )
    not_found_hint = (
        "run jangar list -A to list all runs"
        if report.resource == "orchestrationruns"
        else "run jangar get KIND -A to list all objects"
    )
    messages = {
        ErrorKind.CONFLICT: (message, ExitCode.FAILED),
        ErrorKind.INVALID: (message, ExitCode.FAILED),
        ErrorKind.MISSING: (message, ExitCode.NOT_FOUND),
        ErrorKind.TIMEOUT: (message, ExitCode.TIMEOUT),
        ErrorKind.NOT_SENT: (
            f"the API cannot be reached: {message} ({unreachable_hint})",
            ExitCode.UNREACHABLE,
        ),
        ErrorKind.NO_RESPONSE: (
            f"the API did not answer: {message}; the request may have succeeded: check before retrying",
            ExitCode.UNREACHABLE,
        ),
        ErrorKind.UNKNOWN_KIND: (
            "the API does not serve this kind: install the CRDs with jangar crds install",
            ExitCode.NOT_FOUND,
        ),
        ErrorKind.NOT_FOUND: (f"{message} ({not_found_hint})", ExitCode.NOT_FOUND),
        ErrorKind.UNAUTHORIZED: (
            f"{message}: the API rejected the credentials; check the user of the context",
            ExitCode.UNREACHABLE,
        ),
        ErrorKind.FORBIDDEN: (
            f"{message} (ask a cluster administrator for this permission)",
            ExitCode.FAILED,
        ),
        ErrorKind.INVALID_OBJECT: (_invalid_object(message, report.problems), ExitCode.FAILED),
        ErrorKind.ALREADY_EXISTS: (
            f"{message}: choose another name, or delete it first",
            ExitCode.FAILED,
        ),
        ErrorKind.MODIFIED: (
            f"{message}: the object was modified concurrently; try again",
            ExitCode.FAILED,
        ),
        ErrorKind.THROTTLED: (f"the API failed: {message}; try again in a moment", ExitCode.FAILED),
        ErrorKind.SERVER_FAILURE: (f"the API failed: {message}; try again in a moment", ExitCode.FAILED),
        ErrorKind.API_ERROR: (message, ExitCode.FAILED),
    }
    return messages.get(report.kind)


def _invalid_object(message: str, problems: Sequence[str]) -> str:
    """One line per invalid field."""
    lines = [*problems]
    if any("immutable" in line for line in lines):
        lines.append("the field is immutable: delete the object first, or use another name")
    return "\n".join(lines) or message
