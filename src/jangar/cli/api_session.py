"""Runs commands that call an API: opens a session, and reports every error as a sentence with an exit code."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from jangar.cli.error_messages import api_error_message
from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import Target, Unreachable, connection_of, local_data_directory
from jangar.cli.terminal import write_error

if TYPE_CHECKING:
    from jangar.operations.caller import Caller, RunRef
    from jangar.operations.step_logs import StepLogs
    from kubekit.client.api_client import Client
    from kubekit.client.transport import Transport

T = TypeVar("T")
MANAGER = "jangar-cli"
REQUEST_SECONDS = 30.0


class Failure(Exception):
    """A command failed; has the message for the user and the exit code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The connection of one command to one server."""

    client: "Client"
    transport: "Transport"
    namespace: str
    server: str

    @property
    def caller(self) -> "Caller":
        """The user of this command, as operations need it."""
        from jangar.operations.caller import Caller  # noqa: PLC0415 - heavy
        from jangar.operations.run_reading import RunSource  # noqa: PLC0415

        return Caller(
            client=self.client,
            transport=self.transport,
            runs=RunSource(self.client),
            name=_user_name(),
            namespace=self.namespace,
        )

    def run(self, name: str) -> "RunRef":
        """A run in the namespace of the session."""
        from jangar.operations.caller import RunRef  # noqa: PLC0415 - heavy

        return RunRef(namespace=self.namespace, name=name)

    def logs(self, tails: Path | None) -> "StepLogs":
        """Reads logs of many steps; `tails` is the directory with stored ends of logs."""
        from jangar.operations.step_logs import StepLogs  # noqa: PLC0415 - heavy

        return StepLogs(replace(self.caller, log_tails=tails), batch=True)


def _user_name() -> str | None:
    """The operating system's name of the user."""
    import getpass  # noqa: PLC0415 - not needed for --help

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return None


ErrorReporter = Callable[[str, ExitCode], None]
"""Reports an error instead of printing it to standard error."""


def call_api(
    command: str, target: Target, work: Callable[[Session], Awaitable[T]], report: ErrorReporter | None = None
) -> T:
    """Run `work` in a session; an error exits the process with a message and an exit code."""
    import asyncio  # noqa: PLC0415 - heavy

    with report_errors(command, target, report):
        return asyncio.run(_run_in_session(target, work))


@contextmanager
def report_errors(command: str, target: Target, report: ErrorReporter | None = None) -> Iterator[None]:
    """Exit the process with a message and an exit code if the block fails."""
    try:
        yield
    except Failure as error:
        message, code = str(error), error.code
    except Unreachable as error:
        message, code = str(error), ExitCode.UNREACHABLE
    except Exception as error:
        described = api_error_message(error, is_laptop=local_data_directory(target) is not None)
        if described is None:
            raise
        message, code = described
    else:
        return
    if report is not None:
        report(message, code)
        raise typer.Exit(code)
    for line in message.splitlines():
        write_error(f"jangar {command}: {line}")
    raise typer.Exit(code)


async def _run_in_session(target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
    async with session_of(target) as session:
        return await work(session)


@asynccontextmanager
async def session_of(target: Target, *, seconds: float = REQUEST_SECONDS) -> AsyncIterator[Session]:
    """A connection to the target's API; `seconds` is the request timeout. Raises Unreachable."""
    from kubekit.client.api_client import Client  # noqa: PLC0415 - heavy
    from kubekit.client.http_transport import HttpTransport  # noqa: PLC0415

    connection = connection_of(target)
    transport = HttpTransport(connection, user_agent=MANAGER)
    client = Client(transport, manager=MANAGER, request_timeout=seconds)
    try:
        yield Session(
            client=client,
            transport=transport,
            namespace=target.namespace or connection.namespace,
            server=connection.server,
        )
    finally:
        await client.close()
