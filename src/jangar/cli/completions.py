"""Shell completion for names of runs, steps, kinds and objects.

Completes nothing, without a message, if the API does not answer in time or rejects the user.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.following.tree import RunSnapshot

ANSWER_SECONDS: Final = 1.5
"""The user is waiting; the time for imports comes on top."""
OTHER_KINDS: Final = (
    "pods",
    "jobs",
    "configmaps",
    "secrets",
    "events",
    "namespaces",
    "persistentvolumeclaims",
)
"""Kubernetes kinds that users often need."""


def complete_runs(context: typer.Context, incomplete: str) -> list[str]:
    """Names of runs; nested runs only if no other name matches."""
    from jangar.operations.run_reading import RUNS, owner_of  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        found = await session.client.list(RUNS, session.namespace)
        roots = [item["metadata"]["name"] for item in found if owner_of(item, RUNS.kind) is None]
        return _beginning(roots, incomplete) or [item["metadata"]["name"] for item in found]

    return _complete_from_api(context, incomplete, work)


def complete_steps(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the steps of the run on the command line."""
    from jangar.operations.run_reading import get_run  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        read = await get_run(session.caller, session.run(_typed_run(context)))
        return [state.name for state in read.states]

    return _complete_from_api(context, incomplete, work)


def complete_step_paths(context: typer.Context, incomplete: str) -> list[str]:
    """The same, with the steps of nested runs as outer/inner."""
    from jangar.cli.following.run_watcher import RunReader  # noqa: PLC0415 - heavy
    from jangar.operations.run_reading import RUNS  # noqa: PLC0415

    async def work(session: "Session") -> list[str]:
        obj = await session.client.get(RUNS, _typed_run(context), session.namespace)
        return _paths(await RunReader(session.client).read(obj))

    return _complete_from_api(context, incomplete, work)


def complete_kinds(incomplete: str) -> list[str]:
    """Kinds that `get` and `delete` know. Calls no API."""
    from jangar.api.kinds import KINDS  # noqa: PLC0415 - heavy

    return sorted(_beginning(("runs", *(kind.plural for kind in KINDS), *OTHER_KINDS), incomplete))


def complete_names(context: typer.Context, incomplete: str) -> list[str]:
    """Names of objects of the kind on the command line, without names that are there already."""
    from jangar.operations.objects import resource_named  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        kind = context.params.get("kind") or ""
        resource = await resource_named(session.caller, kind)
        namespace = session.namespace if resource.namespaced else None
        given = context.params.get("names") or ()
        found = [item["metadata"]["name"] for item in await session.client.list(resource, namespace)]
        return [name for name in found if name not in given]

    return _complete_from_api(context, incomplete, work)


def complete_namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the namespaces of the API."""
    from kubekit.client.builtin import NAMESPACES  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        return [item["metadata"]["name"] for item in await session.client.list(NAMESPACES)]

    return _complete_from_api(context, incomplete, work)


def complete_phases(incomplete: str) -> list[str]:
    from jangar.api.phases import Phase  # noqa: PLC0415 - heavy

    return [str(phase) for phase in Phase if phase.lower().startswith(incomplete.lower())]


def complete_forms(incomplete: str) -> list[str]:
    return _beginning(("table", "wide", "json", "yaml", "name", "jsonpath="), incomplete)


def _paths(seen: "RunSnapshot", prefix: str = "") -> list[str]:
    found: list[str] = []
    for state in seen.read.record.steps:
        found.append(f"{prefix}{state.name}")
        if state.name in seen.inside:
            found += _paths(seen.inside[state.name], f"{prefix}{state.name}/")
    return found


def _typed_run(context: typer.Context) -> str:
    """The run on the command line. Arguments are not parsed yet while the value of an option is completed."""
    words = (word for word in context.args if not word.startswith("-"))
    return context.params.get("run") or next(words, "")


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _complete_from_api(
    context: typer.Context, incomplete: str, work: "Callable[[Session], Awaitable[list[str]]]"
) -> list[str]:
    """Sorted completions from the target's API; none if it cannot be reached."""
    import asyncio  # noqa: PLC0415 - not needed for --help

    try:
        return sorted(_beginning(asyncio.run(_query_api(context.params, work)), incomplete))
    except Exception:  # noqa: BLE001 - a message would appear in the middle of the command line
        return []


async def _query_api(given: dict[str, Any], work: "Callable[[Session], Awaitable[list[str]]]") -> list[str]:
    import asyncio  # noqa: PLC0415 - not needed for --help

    from jangar.cli.api_session import session_of  # noqa: PLC0415 - heavy
    from jangar.cli.target import Target  # noqa: PLC0415

    target = Target(
        kubeconfig=given.get("kubeconfig"),
        context=given.get("context") or "",
        namespace=given.get("namespace") or "",
        data_dir=given.get("data_dir"),
    )
    async with session_of(target, seconds=ANSWER_SECONDS) as session, asyncio.timeout(ANSWER_SECONDS):
        return await work(session)
