"""`jangar list` and `jangar retention`: list runs, and when they will be deleted (GC-4)."""

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.api_session import Session, call_api
from jangar.cli.completions import complete_phases, complete_runs
from jangar.cli.output.form import TABLE, Form, FormOption, Shape, object_lines
from jangar.cli.output.spans import parse_span
from jangar.cli.output.table import cleaned, fit, table
from jangar.cli.target import AllNamespacesOption, SelectorOption, Target, with_api_options
from jangar.cli.terminal import columns, has_color, match_word, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jangar.operations.retention import RunRetention
    from jangar.operations.run_list import RunFilter
    from kubekit.client.api_client import Obj

LIST_EPILOG = """\b
Examples:
  jangar list
  jangar list --phase Failed --phase Cancelled --since 2d
  jangar list -A -l team=data --watch
  jangar list --children -o wide
  jangar list -o name --phase Running

\b
Exit codes: 0 done, 2 wrong usage, 5 the API cannot be reached."""
RETENTION_EPILOG = """\b
Examples:
  jangar retention
  jangar retention nightly-1
  jangar retention -A -o wide

\b
The history keeps ended runs for JANGAR_HISTORY_RETENTION_SECONDS (a setting of the
controllers), or forever if that is not set.

\b
Exit codes: 0 shown, 4 not found, 5 the API cannot be reached."""

RETENTION_HEADS = ("Run", "Phase", "Run deleted", "Decided by", "Jobs deleted", "Jobs decided by")
RETENTION_OPTIONAL = ("Jobs decided by", "Decided by")
"""Columns that are omitted on a narrow terminal, in this order."""


@with_api_options
def list_command(
    phases: Annotated[
        list[str] | None,
        typer.Option(
            "--phase",
            metavar="PHASE",
            help="Only runs in this phase; repeatable.",
            autocompletion=complete_phases,
        ),
    ] = None,
    labels: SelectorOption = "",
    since: Annotated[
        timedelta | None,
        typer.Option(
            "--since",
            parser=parse_span,
            metavar="AGE",
            help="Only runs created within this time: 30m, 12h, 7d.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Keep running and print a line for each change.")
    ] = False,
    children: Annotated[bool, typer.Option("--children", help="Include nested runs.")] = False,
    output: FormOption = TABLE,
    all_namespaces: AllNamespacesOption = False,
    *,
    target: Target,
) -> None:
    """List runs, newest last.

    Nested runs are omitted unless you pass --children. On a terminal, long values are shortened to fit; -o wide
    shows them in full.
    """
    from jangar.api.phases import Phase  # noqa: PLC0415 - heavy
    from jangar.operations.run_list import RunFilter, list_runs  # noqa: PLC0415

    wanted_phases = frozenset(Phase(match_word(phase, Phase, "--phase")) for phase in phases or ())

    def wanted() -> RunFilter:
        created_after = None if since is None else datetime.now(UTC) - since
        return RunFilter(phases=wanted_phases, since=created_after, nested=children)

    if watch and not output.is_table:
        raise typer.BadParameter("--watch supports only table output", param_hint="--output")

    async def work(session: Session) -> "tuple[list[Obj], int, str | None]":
        namespace = None if all_namespaces else session.namespace
        if watch:
            await _follow(session, namespace, labels, wanted, output)
        return *await list_runs(session.caller, wanted(), namespace=namespace, labels=labels), namespace

    runs, count, namespace = call_api("list", target, work)
    if not output.is_table:
        write_lines(object_lines(output, runs, is_one=False))
    elif runs:
        _show(runs, output, datetime.now(UTC), spread=all_namespaces)
    else:
        others = f" match ({count} others exist)" if count else ""
        write_error(f"no runs in {namespace or 'any namespace'}{others}")


def _show(runs: "list[Obj]", output: Form, now: datetime, *, spread: bool) -> None:
    from jangar.cli.table_rows import RUN_OPTIONAL, run_cells, run_heads  # noqa: PLC0415

    wide = output.shape is Shape.WIDE
    rows = [run_cells(run, now, wide=wide, spread=spread) for run in runs]
    heads = run_heads(wide=wide, spread=spread)
    color = has_color(sys.stdout)
    write_lines(table(heads, rows, width=_width(output), color=color, optional=RUN_OPTIONAL))


def _width(output: Form) -> int | None:
    return columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None


async def _follow(
    session: Session, namespace: str | None, labels: str, wanted: "Callable[[], RunFilter]", output: Form
) -> None:
    """Print a line for each change until Ctrl-C, in columns of fixed width. `wanted` returns the current filter."""
    from jangar.cli.table_rows import RUN_OPTIONAL, RUN_TYPICAL, run_cells, run_heads  # noqa: PLC0415
    from jangar.operations.run_documents import list_item  # noqa: PLC0415
    from jangar.operations.run_reading import RUNS  # noqa: PLC0415
    from jangar.operations.watching import changes  # noqa: PLC0415

    wide, spread = output.shape is Shape.WIDE, namespace is None
    heads, now = run_heads(wide=wide, spread=spread), datetime.now(UTC)
    first = [
        cleaned(run_cells(run, now, wide=wide, spread=spread))
        for run in await session.client.list(RUNS, namespace, labels=labels)
        if wanted().matches(list_item(run))
    ]
    typical = [RUN_TYPICAL.get(head, "") for head in heads]
    layout = fit(heads, [*first, typical], width=_width(output), optional=RUN_OPTIONAL)
    write_lines(layout.lines([head.upper() for head in heads]))
    printed: dict[str, tuple[str, ...]] = {}
    async for kind, run in changes(session.client, RUNS, namespace, labels=labels):
        if not wanted().matches(list_item(run)):
            continue
        cells = run_cells(run, datetime.now(UTC), wide=wide, spread=spread)
        if kind == "DELETED":
            cells[1 + spread] = "(deleted)"
        state = (cells[1 + spread], cells[2 + spread], cells[heads.index("Reason")])
        uid = run["metadata"]["uid"]
        if printed.get(uid) != state:
            printed[uid] = state
            write_lines(layout.lines(cleaned(cells), color=has_color(sys.stdout)))


@with_api_options
def retention_command(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="One run (default: all ended runs).", autocompletion=complete_runs
        ),
    ] = "",
    output: FormOption = TABLE,
    all_namespaces: AllNamespacesOption = False,
    *,
    target: Target,
) -> None:
    """Show when runs and their Jobs will be deleted.

    Names the setting or field that determines each time.
    """
    from jangar.operations.retention import get_retention  # noqa: PLC0415

    async def work(session: Session) -> "RunRetention":
        namespace = None if all_namespaces and not run else session.namespace
        return await get_retention(session.caller, namespace, run)

    found, now = call_api("retention", target, work), datetime.now(UTC)
    if not output.is_table:
        write_lines(object_lines(output, found.runs, is_one=bool(run)))
    elif found.runs:
        width = _width(output)
        rows = [_retention_row(item, found, now, short=width is not None) for item in found.runs]
        write_lines(table(RETENTION_HEADS, rows, width=width, optional=RETENTION_OPTIONAL))
    else:
        write_error("no ended runs: the deletion time is set when a run ends")


def _with_root(root: "Mapping[str, Any] | None", now: datetime) -> str:
    from jangar.domain.retention import retention_from  # noqa: PLC0415 - heavy

    if root is None:
        return "with its root run"
    retention = (root.get("status") or {}).get("retention")
    when = _when(retention_from(retention).run_expires_at, now) if retention else "not before it ends"
    return f"with its root run {root['metadata']['name']}: {when}"


def _retention_row(
    obj: "Mapping[str, Any]", found: "RunRetention", now: datetime, *, short: bool
) -> list[str]:
    from jangar.domain.retention import Source, retention_from  # noqa: PLC0415

    meta, status = obj["metadata"], obj.get("status") or {}
    name, phase = meta["name"], status.get("phase") or "Pending"
    if not status.get("retention"):
        return [name, phase, "not before it ends", "", "not before they end", ""]
    retention = retention_from(status["retention"])
    with_root = retention.run_source == Source.ROOT_RUN
    return [
        name,
        phase,
        _with_root(found.root_of(obj), now)
        if with_root
        else _when(retention.run_expires_at, now, short=short),
        str(retention.run_source or ""),
        _when(retention.job_expires_at, now, short=short),
        str(retention.job_source or ""),
    ]


def _when(moment: datetime | None, now: datetime, *, short: bool = False) -> str:
    from jangar.cli.output.spans import age  # noqa: PLC0415 - not needed for --help
    from kubekit.times import rfc3339  # noqa: PLC0415

    if moment is None:
        return "never"
    left = f"in {age(now, moment)}" if moment > now else "due"
    return left if short else f"{rfc3339(moment)} ({left})"
