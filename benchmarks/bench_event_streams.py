"""Two hundred readers of /v1/watch: missed changes, lateness, and memory per reader.

A control plane process in front of the embedded API server; runs are changed as fast as the API takes it.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENTS = int(os.environ.get("JANGAR_BENCH_STREAMS", "200"))
CHANGES = int(os.environ.get("JANGAR_BENCH_CHANGES", "8000"))
ROUNDS = max(1, CHANGES // 1000)
FILLED = 6
"""After so many thousand changes what is kept on purpose is full: the last 5,000 changes for readers that come back,
and 2 MiB of objects that were read lately. From there on memory must be flat."""
RUNS = 50
GROUP = "orchestration.proompteng.ai"
CHANGE = re.compile(rb'"name":"(run-\d+)"[^\n]*?"message":"([\d.]+) (\d+)"')
JANGAR = Path(sys.executable).with_name("jangar")


class Reader:
    """One stream: how many changes of each run arrived, and how late."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._host, self._port, self._token = host, port, token
        self.last_number: dict[str, int] = {}
        self.lateness: list[float] = []
        self.ready = asyncio.Event()
        self.resets = self.gaps = 0

    async def run(self) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=2**20)
        who = f"Host: {self._host}:{self._port}\r\nAuthorization: Bearer {self._token}"
        writer.write(f"GET /v1/watch HTTP/1.1\r\n{who}\r\n\r\n".encode())
        rest = b""
        try:
            while came := await reader.read(2**18):
                text = rest + came
                whole = text.rfind(b"\n\n") + 2
                rest = text[whole:]
                if b"event: hello" in text:
                    self.ready.set()
                self.resets += text.count(b"event: reset")
                for name, sent, number in CHANGE.findall(text[:whole]):
                    self._hear(name.decode(), float(sent), int(number))
        finally:
            writer.close()

    def _hear(self, name: str, sent: float, number: int) -> None:
        """Every change must come, in its order; the same one again is no harm."""
        if number > self.last_number.get(name, 0) + 1:
            self.gaps += 1
        self.last_number[name] = max(self.last_number.get(name, 0), number)
        self.lateness.append(time.time() - sent)


def resident(pid: int) -> float:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


async def change(api, name: str, number: int) -> None:
    status = {"status": {"phase": "Running", "message": f"{time.time()} {number}"}}
    path = f"/apis/{GROUP}/v1alpha1/namespaces/default/orchestrationruns/{name}/status"
    headers = {"Content-Type": "application/merge-patch+json"}
    answer = await asyncio.to_thread(api.request, "PATCH", path, json.dumps(status).encode(), headers)
    assert answer.is_success, answer.content


async def measured(frontend, server, pid: int) -> dict[str, float]:
    api = server.client()
    host, _, port = frontend.host.partition(":")
    readers = [Reader(host, int(port), server.token) for _ in range(CLIENTS)]
    before = resident(pid)
    tasks = [asyncio.create_task(item.run()) for item in readers]
    await asyncio.gather(*(asyncio.wait_for(item.ready.wait(), 60) for item in readers))
    found = {"memory before readers (MB)": before, "memory with readers (MB)": resident(pid)}
    last: dict[str, int] = {}
    began = time.perf_counter()
    for round_number in range(ROUNDS):
        for number in range(CHANGES // ROUNDS):
            name = f"run-{number % RUNS}"
            last[name] = last.get(name, 0) + 1
            await change(api, name, last[name])
        found[f"memory after {CHANGES // ROUNDS * (round_number + 1)} changes (MB)"] = resident(pid)
    found["changes a second"] = CHANGES / (time.perf_counter() - began)
    deadline = time.monotonic() + 30
    while any(item.last_number != last for item in readers) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    late = sorted(item for reader in readers for item in reader.lateness)
    found["readers that missed a change"] = float(
        sum(item.last_number != last or item.gaps > 0 for item in readers)
    )
    found["readers that were reset"] = float(sum(item.resets for item in readers))
    found["changes heard"] = float(len(late))
    found["lateness p50 (ms)"] = late[len(late) // 2] * 1000
    found["lateness p95 (ms)"] = late[int(len(late) * 0.95)] * 1000
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(1)
    found["memory after the readers left (MB)"] = resident(pid)
    api.close()
    return found


def main() -> int:
    """Print what was measured; 1 if a reader missed something or memory grew."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.api_servers import EmbeddedApiServer  # noqa: PLC0415
    from support.child_processes import Child, free_port  # noqa: PLC0415
    from support.control_plane_client import ControlPlaneClient  # noqa: PLC0415

    server, process = EmbeddedApiServer(), None
    try:
        subprocess.run(
            [JANGAR, "crds", "install", "--kubeconfig", server.kubeconfig], check=True, stdout=sys.stderr
        )
        api = server.client()
        for number in range(RUNS):
            run = {
                "apiVersion": f"{GROUP}/v1alpha1",
                "kind": "OrchestrationRun",
                "metadata": {"name": f"run-{number}"},
                "spec": {
                    "orchestration": {"steps": [{"name": "a", "kind": "ToolRun", "toolRef": {"name": "x"}}]}
                },
            }
            path = f"/apis/{GROUP}/v1alpha1/namespaces/default/orchestrationruns"
            made = api.request("POST", path, json.dumps(run).encode(), {"Content-Type": "application/json"})
            assert made.is_success, made.content
        api.close()
        frontend = ControlPlaneClient(f"http://127.0.0.1:{free_port()}", server.token)
        words = [
            "control-plane",
            "--kubeconfig",
            server.kubeconfig,
            "-n",
            "*",
            "--port",
            frontend.host.partition(":")[2],
        ]
        process = Child("control-plane", [JANGAR, *words], Path(tempfile.mkdtemp()))
        process.wait_until(lambda: _answers(frontend), seconds=60)
        found = asyncio.run(measured(frontend, server, process.pid))
    finally:
        if process is not None:
            process.stop()
        server.stop()
    for what, value in found.items():
        print(f"{what:45} {value:10.1f}")
    rounds = [
        value for name, value in found.items() if name.startswith("memory after") and "left" not in name
    ]
    steady = rounds[FILLED - 1 :]
    if len(steady) < 2:
        print("too few changes to tell whether memory is flat", file=sys.stderr)
    has_grown = len(steady) > 1 and steady[-1] > steady[0] * 1.03
    return int(found["readers that missed a change"] > 0 or has_grown)


def _answers(frontend) -> bool:
    try:
        return frontend.request("GET", "/ready", token=None).status == 200
    except OSError:
        time.sleep(0.05)
        return False


if __name__ == "__main__":
    sys.exit(main())
