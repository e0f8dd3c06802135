"""A chain of ten `true` steps on a real cluster, compared with ten bare Jobs awaited one after another (GC-8).

    make cluster; KUBECONFIG=... python -m benchmarks.bench_engine_cluster

The images that the cluster has are used; our controllers run in this process.
"""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_engine_beds import HERE, NAMESPACE, TOOLS, Bed, install, step
from jangar.processes.controllers import engine
from jangar.settings.controllers import controller_settings
from kubekit.client.api_client import Client
from kubekit.client.builtin import JOBS
from kubekit.client.connection import from_kubeconfig
from kubekit.client.http_transport import HttpTransport

STEPS = 10
IMAGE = "busybox:1.37"
GOAL = 0.5


async def bare_jobs(client: Client) -> float:
    """Seconds for ten Jobs, each created when the one before is complete."""
    began = time.perf_counter()
    for number in range(STEPS):
        await client.create(JOBS, _job(f"bare-{number}"))
        while not await _is_complete(client, f"bare-{number}"):  # noqa: ASYNC110 - as a script would wait
            await asyncio.sleep(0.02)
    return time.perf_counter() - began


async def a_chain(bed: Bed) -> float:
    """Seconds for ten steps, each depending on the one before."""
    await bed.create(TOOLS, "here", {"image": IMAGE, "command": ["true"]})
    steps = [step(f"s{n}", [f"s{n - 1}"] if n else [], tool="here") for n in range(STEPS)]
    await bed.define("ten", steps)
    began = time.perf_counter()
    await bed.start("ten", "ten")
    await bed.ended("ten")
    return time.perf_counter() - began


def _job(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": IMAGE, "command": ["true"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


async def _is_complete(client: Client, name: str) -> bool:
    job = await client.get(JOBS, name, NAMESPACE)
    return any(
        condition["type"] == "Complete" for condition in (job.get("status") or {}).get("conditions") or ()
    )


async def main() -> None:
    connection = from_kubeconfig(Path(os.environ["KUBECONFIG"]))
    transport = HttpTransport(connection)
    client = Client(transport, manager="bench")
    await install(client)
    own = HttpTransport(connection)
    manager = engine(own, controller_settings({}), own=HERE, explicit=True)
    working = asyncio.create_task(manager.run())
    await asyncio.sleep(3)
    bare, ours = await bare_jobs(client), await a_chain(Bed(client=client))
    print(
        f"{STEPS} bare Jobs {bare:.1f} s, a chain of {STEPS} steps {ours:.1f} s: {ours / bare:.2f}x (goal {GOAL}x)"
    )
    manager.stop()
    await working
    await transport.close()
    await own.close()


if __name__ == "__main__":
    asyncio.run(main())
