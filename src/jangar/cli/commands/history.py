"""`jangar history`: ended runs, including deleted ones."""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.output.form import TABLE, Form, FormOption, Shape, object_lines
from jangar.cli.output.spans import parse_span
from jangar.cli.output.table import table
from jangar.cli.target import AllNamespacesOption, DataDirOption, NamespaceOption
from jangar.cli.terminal import columns, has_color, match_word, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from jangar.store.history import History
    from jangar.store.rows import Query, RunRow
    from jangar.store.urls import DatabaseAddress

T = TypeVar("T")
KINDS = ("AgentRun", "OrchestrationRun", "ToolRun")

EPILOG = """\b
Examples:
  jangar history
  jangar history --phase Failed --since 7d
  jangar history nightly-1
  jangar history --kind ToolRun --all -o name
  jangar history -A --database-env DATABASE_URL

\b
Exit codes: 0 shown, 2 wrong usage, 4 not found, 5 the history cannot be read."""


def history_command(  # noqa: PLR0913, PLR0917 - options
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="Name or uid of one run to show in full (default: list runs)."),
    ] = "",
    phases: Annotated[
        list[str] | None, typer.Option("--phase", help="Only runs that ended in this phase; may be repeated.")
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Only this kind: OrchestrationRun, AgentRun or ToolRun; repeatable."),
    ] = None,
    since: Annotated[
        timedelta | None,
        typer.Option(
            "--since",
            parser=parse_span,
            metavar="AGE",
            help="Only runs that ended within this time: 30m, 12h, 7d.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10000, help="Maximum number of runs.")] = 100,
    children: Annotated[bool, typer.Option("--all", help="Include nested runs.")] = False,
    output: FormOption = TABLE,
    all_namespaces: AllNamespacesOption = False,
    namespace: NamespaceOption = "",
    data_dir: DataDirOption = None,
    database_env: Annotated[
        str,
        typer.Option(
            "--database-env",
            metavar="NAME",
            help="Environment variable with the database URL (default: the local history).",
        ),
    ] = "",
) -> None:
    """Show ended runs, including deleted ones, newest last.

    For one run, show everything that the history stores.
    """
    from jangar.cli.stored_run import (  # noqa: PLC0415
        stored_row_document,
        stored_run_document,
        stored_run_lines,
    )
    from jangar.operations.past_runs import get_stored_run  # noqa: PLC0415

    searched = None if all_namespaces else namespace or "default"
    query = _query(searched, phases or (), kinds or (), since, limit, children=children)
    address = _address(data_dir, database_env)
    if run:
        past = _query_history(address, lambda history: get_stored_run(history, searched, run))
        if past is None:
            write_error(f"jangar history: no run {run} in the history of {searched or 'any namespace'}")
            raise typer.Exit(ExitCode.NOT_FOUND)
        if output.is_table:
            width = columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None
            write_lines(stored_run_lines(past, width=width, color=has_color(sys.stdout)))
        else:
            write_lines(object_lines(output, [stored_run_document(past)], is_one=True))
        return
    rows = _query_history(address, lambda history: history.page(query))[::-1]
    if output.is_table:
        _show(rows, output, spread=all_namespaces)
    else:
        documents = [stored_row_document(row) for row in rows]
        write_lines(object_lines(output, documents, is_one=False))


def _query(
    namespace: str | None,
    phases: "Sequence[str]",
    kinds: "Sequence[str]",
    since: timedelta | None,
    limit: int,
    *,
    children: bool,
) -> "Query":
    from jangar.api.phases import TERMINAL  # noqa: PLC0415 - not needed for --help
    from jangar.kinds.registry import RUN_KINDS  # noqa: PLC0415
    from jangar.store.rows import Query  # noqa: PLC0415

    return Query(
        namespace=namespace,
        phases=tuple(match_word(phase, sorted(map(str, TERMINAL)), "--phase") for phase in phases),
        kinds=tuple(match_word(kind, list(RUN_KINDS), "--kind") for kind in kinds),
        finished_after=datetime.now(UTC) - since if since else None,
        roots_only=not children,
        limit=limit,
    )


def _address(data_dir: Path | None, variable: str) -> "DatabaseAddress":
    from jangar.cli.target import Target, local_data_directory  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415
    from jangar.store.urls import SqliteFile, parse_url  # noqa: PLC0415

    if not variable:
        directory = local_data_directory(Target(data_dir=data_dir)) or DataDirectory.of(data_dir, os.environ)
        return SqliteFile(directory.history)
    if not os.environ.get(variable):
        raise typer.BadParameter(f"{variable} is not set", param_hint="--database-env")
    try:
        return parse_url(os.environ[variable])
    except ValueError as error:
        raise typer.BadParameter(f"{variable}: {error}", param_hint="--database-env") from None


def _query_history(address: "DatabaseAddress", work: "Callable[[History], Awaitable[T]]") -> "T":
    import asyncio  # noqa: PLC0415 - not needed for --help

    from jangar.store.database_history import DatabaseHistory  # noqa: PLC0415 - heavy
    from jangar.store.errors import StoreError  # noqa: PLC0415

    async def query() -> "T":
        history = DatabaseHistory(address, read_only=True)
        try:
            return await work(history)
        finally:
            await history.close()

    try:
        return asyncio.run(query())
    except StoreError as error:
        write_error(f"jangar history: {error}")
        raise typer.Exit(ExitCode.UNREACHABLE) from None


def _show(runs: "list[RunRow]", output: Form, *, spread: bool) -> None:
    from jangar.cli.stored_run import HEADS, OPTIONAL, WIDE_HEADS, stored_row_cells  # noqa: PLC0415

    if not runs:
        write_error("no matching runs in the history")
        return
    is_wide = output.shape is Shape.WIDE
    heads = [*["Namespace"] * spread, *(WIDE_HEADS if is_wide else HEADS)]
    now = datetime.now(UTC)
    rows = [stored_row_cells(run, now, wide=is_wide, spread=spread) for run in runs]
    width = columns() if sys.stdout.isatty() and not is_wide else None
    write_lines(table(heads, rows, width=width, color=has_color(sys.stdout), optional=OPTIONAL))
