"""`jangar retention`: what will be deleted when, and which value decides (GC-4)."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.completions import complete_runs
from jangar.cli.output.form import TABLE, FormOption, Shape
from jangar.cli.target import AllNamespacesOption, Target, with_api_options
from jangar.cli.terminal import columns, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj

EPILOG = """\b
Examples:
  jangar retention
  jangar retention nightly-1
  jangar retention -A -o wide

\b
The history keeps ended runs for JANGAR_HISTORY_RETENTION_SECONDS (a setting of the
controllers), or forever if that is not set.

\b
Exit codes: 0 shown, 4 not found, 5 the API cannot be reached."""

MAX_DEPTH = 100
"""Nesting that is followed; the rules allow far less."""
HEADS = ("Run", "Phase", "Run deleted", "Decided by", "Jobs deleted", "Jobs decided by")
OPTIONAL = ("Jobs decided by", "Decided by")
"""Columns that a narrow terminal goes without, the first one first."""


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
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.form import object_lines  # noqa: PLC0415
    from jangar.cli.output.table import table  # noqa: PLC0415
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415

    async def work(session: "Session") -> "tuple[list[Obj], list[Obj]]":
        if run:
            one = await session.client.get(RUNS, run, session.namespace)
            return [one], await _ancestors(session, one)
        found = await session.client.list(RUNS, None if all_namespaces else session.namespace)
        return found, found

    found, known = ask("retention", target, work)
    by_uid = {item["metadata"]["uid"]: item for item in known}
    now = datetime.now(UTC)
    shown = [item for item in found if run or (item.get("status") or {}).get("retention")]
    width = columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None
    if not output.is_table:
        write_lines(object_lines(output, shown, is_one=bool(run)))
    elif shown:
        rows = [_row(item, by_uid, now, short=width is not None) for item in shown]
        write_lines(table(HEADS, rows, width=width, optional=OPTIONAL))
    else:
        write_error("no ended runs: the deletion time is set when a run ends")


async def _ancestors(session: "Session", obj: "Obj") -> "list[Obj]":
    """The runs that a nested one is part of, up to the root; those that are gone are left out."""
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415 - heavy
    from kubekit.client.errors import NotFound  # noqa: PLC0415

    found: list[Obj] = []
    owner = _owner(obj)
    while owner is not None and len(found) < MAX_DEPTH:
        try:
            found.append(await session.client.get(RUNS, owner["name"], obj["metadata"]["namespace"]))
        except NotFound:
            break
        owner = _owner(found[-1])
    return found


def _owner(obj: "Mapping[str, Any]") -> "Mapping[str, Any] | None":
    """The run that it is a step of."""
    owners: list[dict[str, Any]] = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller") and owner["kind"] == obj["kind"]), None)


def _root(obj: "Mapping[str, Any]", by_uid: "Mapping[str, Mapping[str, Any]]") -> "Mapping[str, Any] | None":
    """The run at the top; None if the way there is broken."""
    at: Mapping[str, Any] = obj
    for _ in range(MAX_DEPTH):
        owner = _owner(at)
        if owner is None:
            return at
        if owner["uid"] not in by_uid:
            return None
        at = by_uid[owner["uid"]]
    return None


def _with_root(root: "Mapping[str, Any] | None", now: datetime) -> str:
    from jangar.domain.retention import retention_from  # noqa: PLC0415 - heavy

    if root is None:
        return "with its root run"
    kept = (root.get("status") or {}).get("retention")
    when = _when(retention_from(kept).run_expires_at, now) if kept else "not before it ends"
    return f"with its root run {root['metadata']['name']}: {when}"


def _row(
    obj: "Mapping[str, Any]", by_uid: "Mapping[str, Mapping[str, Any]]", now: datetime, *, short: bool
) -> list[str]:
    from jangar.domain.retention import Source, retention_from  # noqa: PLC0415

    meta, status = obj["metadata"], obj.get("status") or {}
    name, phase = meta["name"], status.get("phase") or "Pending"
    if not status.get("retention"):
        return [name, phase, "not before it ends", "", "not before they end", ""]
    kept = retention_from(status["retention"])
    with_root = kept.run_source == Source.ROOT_RUN
    return [
        name,
        phase,
        _with_root(_root(obj, by_uid), now) if with_root else _when(kept.run_expires_at, now, short=short),
        str(kept.run_source or ""),
        _when(kept.job_expires_at, now, short=short),
        str(kept.job_source or ""),
    ]


def _when(moment: datetime | None, now: datetime, *, short: bool = False) -> str:
    from jangar.cli.output.spans import age  # noqa: PLC0415 - not needed for --help
    from jangar.domain.times import rfc3339  # noqa: PLC0415

    if moment is None:
        return "never"
    left = f"in {age(now, moment)}" if moment > now else "due"
    return left if short else f"{rfc3339(moment)} ({left})"
