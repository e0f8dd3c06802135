"""Reads a complete run in the session's namespace, as the HTTP API does."""

from typing import TYPE_CHECKING

from jangar.operations.run_reading import ORCHESTRATIONS, RUNS, ReadRun, identity, read_object

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

__all__ = ["ORCHESTRATIONS", "RUNS", "ReadRun", "identity", "read_object", "read_run"]


async def read_run(session: "Session", name: str) -> ReadRun:
    """Raises NotFound if there is no such run."""
    return await read_object(session.client, await session.client.get(RUNS, name, session.namespace))
