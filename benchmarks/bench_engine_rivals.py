"""The same work without us: plain spawning, and other engines from PyPI in an environment of their own."""

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_engine_beds import AT_ONCE

PLACE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jangar" / "bench-rivals"
LONGEST = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another engine, and the versions that were seen to work together."""

    name: str
    packages: tuple[str, ...]


RIVALS = (
    Rival(name="luigi", packages=("luigi==3.8.1",)),
    Rival(name="prefect", packages=("prefect==3.8.8", "fastapi==0.139.0")),
    Rival(name="dbos", packages=("dbos==3.3.0",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Seconds for the steps side by side, and for those one after another."""

    wide: float
    chain: float
    processor: float = 0.0
    """Of the first, by this process."""


async def spawned(wide: int, chain: int) -> Took:
    """As many processes, started by hand."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with places:
            process = await asyncio.create_subprocess_exec("true")
            await process.wait()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(wide)))
    middle = time.perf_counter()
    for _ in range(chain):
        await one()
    return Took(wide=middle - began, chain=time.perf_counter() - middle)


def measured(rival: Rival, wide: int, chain: int) -> Took | str:
    """What it took, or why it is not known."""
    python = PLACE / rival.name / "bin" / "python"
    if not python.exists() and (problem := _install(rival, python)):
        return problem
    script = Path(__file__).with_name(f"bench_engine_rival_{rival.name}.py")
    try:
        done = subprocess.run(
            [python, script, str(wide), str(chain), str(AT_ONCE)],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {LONGEST:.0f} s"
    except subprocess.CalledProcessError as error:
        return f"failed: {error.stderr.strip().splitlines()[-1:]}"
    return Took(**json.loads(done.stdout.strip().splitlines()[-1]))


def _install(rival: Rival, python: Path) -> str:
    """Why it could not be installed; empty if it was."""
    try:
        subprocess.run([sys.executable, "-m", "venv", PLACE / rival.name], check=True, capture_output=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", *rival.packages], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        python.unlink(missing_ok=True)
        return "not installed: PyPI was not reached, or it is not there"
    return ""
