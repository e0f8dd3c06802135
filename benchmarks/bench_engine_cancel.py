"""From a request to cancel to the last TERM, with a hundred live steps on the laptop, as the work reports it."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench_engine_beds import NAMESPACE, RUNS, TOOLS, Bed, step
from kubekit.client.api_client import PatchKind

STEPS = 100
SETTLE_SECONDS = 2.0
"""Seconds in which what belongs to the start of the steps comes to its end."""
ALIVE = "echo > $OUT/started-$$; "
ON_TERM = "trap 'date +%s.%N > $OUT/term-$$; exit 143' TERM; "
WAITS = "sleep 600 & wait"


async def terms_after_cancel(bed: Bed, steps: int = STEPS) -> list[float]:
    """Seconds from the request to each TERM, in order."""
    out = _directory()
    try:
        # Kubernetes reads $$ as one.
        script = (ON_TERM + ALIVE + WAITS).replace("$$", "$$$$").replace("$OUT", str(out))
        await bed.create(TOOLS, "waits", {"image": "busybox", "command": ["sh", "-c", script]})
        await bed.define("live", [step(f"s{n}", tool="waits") for n in range(steps)])
        await bed.start("live", "live")
        await _until(lambda: _files(out, "started") == steps)
        await asyncio.sleep(SETTLE_SECONDS)
        uid = (await bed.client.get(RUNS, "live", NAMESPACE))["metadata"]["uid"]
        cancelled_at = time.time()
        body = {"metadata": {"uid": uid}, "spec": {"cancel": True}}
        await bed.client.patch(RUNS, "live", NAMESPACE, body, kind=PatchKind.MERGE)
        # Looked at seldom, and by name: whoever measures shares a processor with what is measured.
        await _until(lambda: _files(out, "term") == steps, every=0.25)
        await _until(lambda: len(_written(out, "term")) == steps)
        return sorted(float(item) - cancelled_at for item in _written(out, "term"))
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _directory() -> Path:
    """World-writable: pods of a root agent run as another user."""
    made = Path(tempfile.mkdtemp(prefix="jangar-cancel-"))
    made.chmod(0o777)
    return made


def _files(directory: Path, what: str) -> int:
    return sum(path.name.startswith(what) for path in directory.iterdir())


def _written(directory: Path, what: str) -> list[str]:
    return [text for path in directory.glob(f"{what}-*") if (text := path.read_text())]


async def _until(holds: Callable[[], bool], *, every: float = 0.05, seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - files of other processes tell no event
            await asyncio.sleep(every)
