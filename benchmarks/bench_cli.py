"""The command line: how long whole processes take. CPU time, since other processes share the cores; medians."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.rows import Row

JANGAR = str(Path(sys.executable).with_name("jangar"))
HEAD = """\
apiVersion: orchestration.proompteng.ai/v1alpha1
kind: Orchestration
metadata:
  name: big
spec:
  parameters:
    - {name: env, default: dev}
  steps:
"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return _rows(Path(folder))


def _rows(folder: Path) -> list[Row]:
    """Installers compile packages, so the processes here have compiled ones too, wherever this tree comes from."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    bench = Bench(folder, environment | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")})
    return [
        Row("jangar --help", bench.help_time(), "ms", 200),
        Row("jangar runner, from its start to the end of `true`", bench.runner_time(), "ms", 300),
        Row("jangar lint, 1,000 steps, process start included", bench.lint_time(1_000), "s", 1),
        Row("jangar lint, 10,000 steps, process start included", bench.lint_time(10_000, times=3), "s", 5),
    ]


class Bench:
    """Runs processes in one environment; the first run of each command is not counted."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment

    def help_time(self) -> float:
        """Milliseconds until `jangar --help` has ended."""
        return 1000 * self._median("--help", times=10)

    def runner_time(self) -> float:
        """Milliseconds until `jangar runner` has run a command that does nothing."""
        return 1000 * self._median("runner", "--root", str(self.folder), "--", "true", times=10)

    def lint_time(self, steps: int, times: int = 5) -> float:
        """Seconds until `jangar lint` of one orchestration has ended."""
        file = self.folder / f"{steps}.yaml"
        file.write_text(HEAD + "".join(map(step, range(steps))))
        return self._median("lint", str(file), times=times)

    def _median(self, *arguments: str, times: int) -> float:
        return median([self._cpu_seconds(*arguments) for _ in range(times + 1)][1:])

    def _cpu_seconds(self, *arguments: str) -> float:
        with Path(os.devnull).open("wb") as nowhere:
            process = subprocess.Popen(
                [JANGAR, *arguments], env=self.environment, stdout=nowhere, stderr=nowhere
            )
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"jangar {' '.join(arguments)} ended with {process.returncode}")
        return used.ru_utime + used.ru_stime


def step(number: int) -> str:
    """A step of ten lines that needs two before it; one in ten has a condition of its own."""
    needs = ", ".join(f"step-{item}" for item in (number - 1, number - 10) if item >= 0)
    when = f"      when: parameters.env != 'skip-{number}'\n" if number % 10 == 0 else ""
    return (
        f"    - name: step-{number}\n      kind: ToolRun\n      dependsOn: [{needs}]\n"
        "      toolRef:\n        name: echo\n      timeoutSeconds: 30\n"
        '      with:\n        text: hello\n        env: "{{ parameters.env }}"\n' + when
    )
