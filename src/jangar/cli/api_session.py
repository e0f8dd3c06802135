"""Running a command that talks to an API: one client, one loop, and every error as a sentence with an exit code."""

import asyncio
import getpass
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import Target, Unreachable, connection_of, local_data_directory
from jangar.cli.terminal import write_error

if TYPE_CHECKING:
    from kubekit.client.api_client import Client
    from kubekit.client.transport import Transport

T = TypeVar("T")
MANAGER = "jangar-cli"
REQUEST_SECONDS = 30.0


class Failure(Exception):
    """A command cannot do what it was asked: what to tell the user, and the exit code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One server, asked by one command."""

    client: "Client"
    transport: "Transport"
    namespace: str
    server: str


def user() -> str | None:
    """Who types, as this machine knows them."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return None


ErrorReporter = Callable[[str, ExitCode], None]
"""Reports an error in another way than as lines on standard error."""


def ask(
    command: str, target: Target, work: Callable[[Session], Awaitable[T]], tell: ErrorReporter | None = None
) -> T:
    """Run `work` in a session; an error exits the process with a message and an exit code."""
    with report_errors(command, target, tell):
        return asyncio.run(_run_in_session(target, work))


@contextmanager
def report_errors(command: str, target: Target, tell: ErrorReporter | None = None) -> Iterator[None]:
    """Exit the process with a message and an exit code if the block fails."""
    try:
        yield
    except Failure as error:
        message, code = str(error), error.code
    except Unreachable as error:
        message, code = str(error), ExitCode.UNREACHABLE
    except Exception as error:
        refusal = _refusal(error, target)
        if refusal is None:
            raise
        message, code = refusal
    else:
        return
    if tell is not None:
        tell(message, code)
        raise typer.Exit(code)
    for line in message.splitlines():
        write_error(f"jangar {command}: {line}")
    raise typer.Exit(code)


async def _run_in_session(target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
    async with session_of(target) as session:
        return await work(session)


@asynccontextmanager
async def session_of(target: Target, *, seconds: float = REQUEST_SECONDS) -> AsyncIterator[Session]:
    """A connection to the API that is meant; a request may take so many seconds. Raises Unreachable."""
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


def _refusal(error: Exception, target: Target) -> tuple[str, ExitCode] | None:
    from jangar.cli.refusals import refusal  # noqa: PLC0415 - heavy

    return refusal(error, is_laptop=local_data_directory(target) is not None)
