"""From a request to cancel to the last TERM, with a hundred live steps on the laptop: told by the work itself."""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.bench_engine_beds import NAMESPACE, RUNS, TOOLS, Bed, step
from jangar.kube.client import PatchKind

STEPS = 100
ALIVE = "echo > $OUT/started-$$; "
ON_TERM = "trap 'date +%s.%N > $OUT/term-$$; exit 143' TERM; "
WAITS = "sleep 600 & wait"


async def terms_after_cancel(bed: Bed, steps: int = STEPS) -> list[float]:
    """Seconds from the request to each TERM, in order."""
    out = Path(tempfile.mkdtemp(prefix="jangar-cancel-"))
    out.chmod(0o777)  # pods of a root agent run as another user
    try:
        script = (ON_TERM + ALIVE + WAITS).replace("$$", "$$$$").replace("$OUT", str(out))
        await bed.create(TOOLS, "waits", {"image": "busybox", "command": ["sh", "-c", script]})
        await bed.define("live", [step(f"s{n}", tool="waits") for n in range(steps)])
        await bed.start("live", "live")
        await _until(lambda: len(list(out.glob("started-*"))) == steps)
        uid = (await bed.client.get(RUNS, "live", NAMESPACE))["metadata"]["uid"]
        asked = time.time()
        body = {"metadata": {"uid": uid}, "spec": {"cancel": True}}
        await bed.client.patch(RUNS, "live", NAMESPACE, body, kind=PatchKind.MERGE)
        await _until(lambda: len([each for each in out.glob("term-*") if each.stat().st_size]) == steps)
        return sorted(float(each.read_text()) - asked for each in out.glob("term-*"))
    finally:
        shutil.rmtree(out, ignore_errors=True)


async def _until(holds: object, seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # type: ignore[operator]
            await asyncio.sleep(0.05)
