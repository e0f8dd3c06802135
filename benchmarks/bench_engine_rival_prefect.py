"""`true` as Prefect tasks: eight threads wide, then a chain. Run with Prefect's own interpreter; prints JSON."""

import json
import os
import subprocess
import sys
import tempfile
import time

os.environ |= {
    "PREFECT_HOME": tempfile.mkdtemp(prefix="bench-prefect-"),
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
}

from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner

WIDE, CHAIN, AT_ONCE = (int(word) for word in sys.argv[1:4])


@task
def step(number, after=None):
    del after
    subprocess.run(["true"], check=True)
    return number


@flow(task_runner=ThreadPoolTaskRunner(max_workers=AT_ONCE))
def wide():
    for future in [step.submit(number) for number in range(WIDE)]:
        future.result()


@flow
def chain():
    last = None
    for number in range(CHAIN):
        last = step(number, last)


@flow
def nothing():
    step(0)


def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


nothing()  # its server has started
print(json.dumps({"wide": timed(wide), "chain": timed(chain)}))
