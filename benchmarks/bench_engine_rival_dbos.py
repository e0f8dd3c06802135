"""`true` as DBOS workflows on SQLite: eight at once, then a chain of steps. Run with its own Python; prints JSON."""

import json
import subprocess
import sys
import tempfile
import time

from dbos import DBOS

WIDE, CHAIN, AT_ONCE = (int(word) for word in sys.argv[1:4])
DIRECTORY = tempfile.mkdtemp(prefix="bench-dbos-")
DBOS(
    config={
        "name": "bench",
        "system_database_url": f"sqlite:///{DIRECTORY}/dbos.sqlite",
        "log_level": "CRITICAL",
        "run_admin_server": False,
    }
)


@DBOS.step()
def step(number):
    subprocess.run(["true"], check=True)
    return number


@DBOS.workflow()
def one(number):
    return step(number)


@DBOS.workflow()
def chain():
    for number in range(CHAIN):
        step(number)


def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def wide():
    for handle in [DBOS.enqueue_workflow("steps", one, number) for number in range(WIDE)]:
        handle.get_result()


DBOS.launch()
DBOS.register_queue("steps", global_concurrency=AT_ONCE, polling_interval_sec=0.05)
one(0)
print(json.dumps({"wide": timed(wide), "chain": timed(chain)}))
DBOS.destroy()
