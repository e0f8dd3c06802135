"""The same work without us: plain spawning, and other engines from PyPI in an environment of their own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_engine_beds import AT_ONCE

PLACE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jangar" / "bench-rivals"
MAX_LENGTH = 300.0


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


def spawned(wide: int, chain: int) -> Took:
    """As many processes, started by hand. Not from here: starting one takes longer the larger the starter is."""
    return _timed(Path(sys.executable), "spawn", wide, chain)


def measured(rival: Rival, wide: int, chain: int) -> Took | str:
    """What it took, or why it is not known."""
    python = PLACE / rival.name / "bin" / "python"
    if not python.exists() and (problem := _install(rival, python)):
        return problem
    try:
        return _timed(python, rival.name, wide, chain)
    except subprocess.TimeoutExpired:
        return f"not done after {MAX_LENGTH:.0f} s"
    except subprocess.CalledProcessError as error:
        return f"failed: {error.stderr.strip().splitlines()[-1:]}"


def _timed(python: Path, name: str, wide: int, chain: int) -> Took:
    done = subprocess.run(
        [
            python,
            Path(__file__).with_name(f"bench_engine_rival_{name}.py"),
            str(wide),
            str(chain),
            str(AT_ONCE),
        ],
        capture_output=True,
        text=True,
        timeout=MAX_LENGTH,
        check=True,
    )
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
