"""A session as a document describes it: consecutive commands and the output of some of them.

A `sh session` block contains commands, one per line; `# exit 3` announces an exit code other than 0. A `console`
block contains `$ command` followed by its output; `...` stands for omitted lines. A watching command (`-w`) runs
alongside the following ones to the end of the session.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(sh session|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"#\s*exit (\d+)\s*$")
VARYING = re.compile(r"(?<![\w.-])(\d{4}-\d\d-\d\dT[\d:.]+Z|(\d+(\.\d+)?(ms|s|m|h|d))+)(?![\w.-])")
"""Timestamps and durations."""
UNTIL_OUTPUT = "until_output() { for _ in {1..100}; do [ -s $1 ] && return; sleep 0.1; done; }"
"""Waits for the first output of a watching command."""


@dataclass(frozen=True)
class Typed:
    """One command and its expected output lines."""

    line: str
    says: tuple[str, ...] = ()

    @property
    def watches(self) -> bool:
        return self.line.endswith(" -w")


def session_of(text: str) -> list[Typed]:
    """The commands of a document's session in order."""
    commands: list[Typed] = []
    for kind, body in BLOCK.findall(text):
        if kind == "console":
            commands += [
                _reported(part) for part in re.split(r"^\$ ", body, flags=re.MULTILINE) if part.strip()
            ]
        else:
            commands += [Typed(line.strip()) for line in body.splitlines() if line.strip()]
    return commands


def _reported(part: str) -> Typed:
    line, *says = part.splitlines()
    return Typed(line, tuple(say for say in says if say.strip() not in {"", "..."}))


def script(session: Sequence[Typed], outputs: Path) -> str:
    """A shell script; the first command with an unexpected exit code ends it. Outputs are written to numbered files."""
    lines = ["set -o pipefail", "watching=()", "trap 'kill ${watching[@]} 2>/dev/null' EXIT", UNTIL_OUTPUT]
    for number, item in enumerate(session):
        if item.watches:
            lines += [
                f"{item.line} > {outputs}/{number} 2>&1 & watching+=($!)",
                f"until_output {outputs}/{number}",
            ]
            continue
        wanted = announced.group(1) if (announced := EXIT.search(item.line)) else "0"
        reported = shlex.quote(f"{item.line} exited with")
        redirected = f"{{ {item.line}\n}} > {outputs}/{number} 2>&1" if item.says else item.line
        lines += [redirected, f"code=$?; [ $code = {wanted} ] || {{ echo {reported} $code; exit 1; }}"]
    return "\n".join(lines)


def missing_lines(each: Typed, output: str) -> list[str]:
    """Lines of the document that the command did not print; timestamps, durations and column widths may differ."""
    printed = {_plain(line) for line in output.splitlines()}
    return [line for line in each.says if _plain(line) not in printed]


def _plain(line: str) -> str:
    return " ".join(VARYING.sub("_", line).split())
