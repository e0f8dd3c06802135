"""Shortening the grace period of a cancelled run's pods: each gets less time between SIGTERM and SIGKILL.

Only pods that the controllers have told to stop are touched, after their stop is recorded: a deletion that comes first
would be somebody else's. A deletion with a shorter grace period is what Kubernetes itself offers for this.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.runs.reading import RUNS
from jangar.controllers.resources import RUN_UID
from jangar.operations.submit import is_over, phase_of
from kubekit.client.builtin import PODS
from kubekit.client.errors import Conflict, Forbidden, NotFound

if TYPE_CHECKING:
    from kubekit.client.api_client import Client, Obj

LOOK_AGAIN: Final = 0.3


async def shorten_grace_period(client: "Client", run: "Obj", *, grace: int, seconds: float) -> int:
    """How many pods got the shorter grace period. Returns once every live pod of the run and of the runs in it has it.

    Raises Failure if pods may not be deleted, or the controllers do not stop them in time.
    """
    meta, shortened = run["metadata"], set[str]()
    try:
        async with asyncio.timeout(seconds):
            while True:
                now = await client.get(RUNS, meta["name"], meta["namespace"])
                if now["metadata"]["uid"] != meta["uid"] or is_over(now):
                    return len(shortened)
                live = [item for item in await _pods(client, now) if _is_live(item)]
                for pod in live:
                    if _is_stopping(pod, grace):
                        await _delete(client, pod, grace)
                        shortened.add(pod["metadata"]["uid"])
                if phase_of(now) == "Cancelling" and all(_has(pod, grace, shortened) for pod in live):
                    return len(shortened)
                await asyncio.sleep(LOOK_AGAIN)
    except NotFound:
        return len(shortened)
    except Forbidden as error:
        raise Failure(
            f"{meta['name']} is being cancelled, but its grace period cannot be shortened: {error} "
            "(--grace deletes pods; ask a cluster administrator for this permission)"
        ) from error
    except TimeoutError:
        raise Failure(
            f"{meta['name']} is being cancelled, but its pods did not begin to stop within {seconds:.0f} s: "
            "their grace period is unchanged",
            ExitCode.TIMEOUT,
        ) from None


async def _pods(client: "Client", run: "Obj") -> "list[Obj]":
    """Of the run, and of the runs that its steps started."""
    namespace, uids, level = run["metadata"]["namespace"], [], [run["metadata"]["uid"]]
    while level:
        uids += level
        inside = await client.list(RUNS, namespace, labels=_one_of(level))
        level = [item["metadata"]["uid"] for item in inside if item["metadata"]["uid"] not in uids]
    return await client.list(PODS, namespace, labels=_one_of(uids))


def _one_of(uids: list[str]) -> str:
    return f"{RUN_UID} in ({','.join(uids)})"


async def _delete(client: "Client", pod: "Obj", grace: int) -> None:
    meta = pod["metadata"]
    try:
        await client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)
    except (NotFound, Conflict):
        # It ended meanwhile.
        return


def _is_live(pod: "Obj") -> bool:
    return (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}


def _is_stopping(pod: "Obj", grace: int) -> bool:
    """Whether it was told to stop, with more time than it is to have."""
    meta = pod["metadata"]
    return bool(meta.get("deletionTimestamp")) and (meta.get("deletionGracePeriodSeconds") or 0) > grace


def _has(pod: "Obj", grace: int, shortened: set[str]) -> bool:
    meta = pod["metadata"]
    return meta["uid"] in shortened or (bool(meta.get("deletionTimestamp")) and not _is_stopping(pod, grace))
