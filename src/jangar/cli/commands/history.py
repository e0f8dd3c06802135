"""`jangar history`: what became of runs, also of those that are deleted."""

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.output.form import TABLE, Form, FormOption, Shape
from jangar.cli.output.spans import parse_span
from jangar.cli.target import AllNamespacesOption, DataDirOption, NamespaceOption
from jangar.cli.terminal import columns, has_color, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from jangar.cli.runs.past import PastRun
    from jangar.store.history import History
    from jangar.store.rows import Query, RunRow
    from jangar.store.urls import DatabaseAddress

T = TypeVar("T")

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
    from jangar.cli.runs.past import past_document, past_lines  # noqa: PLC0415 - heavy

    place = None if all_namespaces else namespace or "default"
    query = _query(place, phases or (), kinds or (), since, limit, children=children)
    address = _address(data_dir, database_env)
    if run:
        past = _query_history(address, lambda history: _one(history, place, run))
        if past is None:
            write_error(f"jangar history: no run {run} in the history of {place or 'any namespace'}")
            raise typer.Exit(ExitCode.NOT_FOUND)
        if output.is_table:
            width = columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None
            write_lines(past_lines(past, width=width, color=has_color(sys.stdout)))
        else:
            _write(output, [past_document(past)], is_one=True)
        return
    found = _query_history(address, lambda history: history.page(query))[::-1]
    if output.is_table:
        _show(found, output, spread=all_namespaces)
    else:
        from jangar.cli.runs.past import run_document  # noqa: PLC0415 - heavy

        _write(output, [run_document(item) for item in found], is_one=False)


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
        phases=tuple(_one_of(item, [str(phase) for phase in TERMINAL], "--phase") for item in phases),
        kinds=tuple(_one_of(kind, list(RUN_KINDS), "--kind") for kind in kinds),
        finished_after=datetime.now(UTC) - since if since else None,
        roots_only=not children,
        limit=limit,
    )


def _one_of(text: str, words: list[str], option: str) -> str:
    found = next((word for word in words if word.lower() == text.lower()), None)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(sorted(words))}", param_hint=option)
    return found


def _address(data_dir: Path | None, variable: str) -> "DatabaseAddress":
    from jangar.cli.target import Target, local_data_directory  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415
    from jangar.store.urls import SqliteFile, parse_url  # noqa: PLC0415

    if not variable:
        place = local_data_directory(Target(data_dir=data_dir)) or DataDirectory.of(data_dir, os.environ)
        return SqliteFile(place.history)
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

    async def asked() -> "T":
        history = DatabaseHistory(address, read_only=True)
        try:
            return await work(history)
        finally:
            await history.close()

    try:
        return asyncio.run(asked())
    except StoreError as error:
        write_error(f"jangar history: {error}")
        raise typer.Exit(ExitCode.UNREACHABLE) from None


async def _one(history: "History", namespace: str | None, name: str) -> "PastRun | None":
    """By uid, else the last one of that name."""
    from jangar.cli.runs.past import PastRun, past_inputs  # noqa: PLC0415 - heavy
    from jangar.store.rows import Query  # noqa: PLC0415

    row = await history.run(name)
    if row is None:
        named = await history.page(Query(namespace=namespace, name=name, roots_only=False, limit=1))
        row = named[0] if named else None
    if row is None:
        return None
    steps = await history.steps(row.uid)
    tails = {step.child_uid: await history.log_tail(step.child_uid) for step in steps if step.child_uid}
    return PastRun(
        row=row,
        steps=steps,
        log_tail=await history.log_tail(row.uid),
        step_tails=tails,
        inputs=past_inputs(row, await history.whole(row.uid)) if steps else {},
    )


def _show(found: "list[RunRow]", output: Form, *, spread: bool) -> None:
    from jangar.cli.output.table import table  # noqa: PLC0415 - not needed for --help
    from jangar.cli.runs.past import HEADS, OPTIONAL, WIDE_HEADS, cells  # noqa: PLC0415

    if not found:
        write_error("no matching runs in the history")
        return
    is_wide = output.shape is Shape.WIDE
    heads = [*["Namespace"] * spread, *(WIDE_HEADS if is_wide else HEADS)]
    now = datetime.now(UTC)
    rows = [cells(item, now, wide=is_wide, spread=spread) for item in found]
    width = columns() if sys.stdout.isatty() and not is_wide else None
    write_lines(table(heads, rows, width=width, color=has_color(sys.stdout), optional=OPTIONAL))


def _write(output: Form, documents: "list[dict[str, Any]]", *, is_one: bool) -> None:
    from jangar.cli.output.form import object_lines  # noqa: PLC0415 - not needed for --help

    write_lines(object_lines(output, documents, is_one=is_one))
