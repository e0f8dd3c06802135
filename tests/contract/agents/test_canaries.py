"""Agents get canary secrets in every way and print them in every way: no file, object or log of ours contains one.

All bytes are searched: every version of every object, events and history in their databases, log tails, container
logs, the controllers' own log, and metrics.
"""

import base64
import secrets
from pathlib import Path
from urllib.parse import quote

import pytest

from contract.agents.fresh_namespace import fresh_namespace
from contract.engine.engine_namespace import IMAGE
from contract.store.history_bed import BedWithHistory
from jangar.api.phases import TERMINAL
from support.proving import FULL
from support.reliability_page import record_trials
from support.runner_availability import why_no_runner

MARK = "plain-word"
"""A marker that is not secret, printed with the canaries: the search must find it."""
WAYS = {
    "env": 'tell "$PROVIDER_KEY"',
    "whole Secret": 'tell "$WHOLE_KEY"',
    "file": 'tell "$(cat /keys/key)"',
    "args": 'tell "$PROVIDER_KEY"; sh -c "exit 0" "$PROVIDER_KEY"',
    "url": 'tell "https://bot:$PROVIDER_KEY@git.example.org/r.git"',
    "error": 'echo "fatal: cannot open $WHOLE_KEY" >&2; tell "$(cat /keys/key)"; exit 3',
    "long line": 'head -c 70000 /dev/zero | tr "\\0" x; tell "$PROVIDER_KEY"',
    "no newline": 'tell "$WHOLE_KEY"; printf "%s" "$PROVIDER_KEY"',
}
PRINT_VALUES = f"""
tell() {{
  echo "{MARK} $1"; echo "$1" >&2
  printf '{{"said": "{MARK} %s", "%s": 1}}' "$1" "$1" > "$JANGAR_RESULT_PATH"
}}
"""


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    if (obstacle := why_no_runner()) is not None:
        pytest.skip(obstacle)
    made = BedWithHistory()
    made.directory_of_history = tmp_path_factory.mktemp("history")
    made.url = f"sqlite:///{made.directory_of_history / 'history.sqlite'}"
    made.start()
    yield made
    made.stop()


@pytest.fixture
def namespace(bed):
    with fresh_namespace(bed) as made:
        yield made


def start(namespace, number, way, values):
    """A run that gets all its values and prints them in this way."""
    name = f"run-{number}"
    keys = ("PROVIDER_KEY", "WHOLE_KEY", "key")
    for secret, key in zip(("provider", "whole", "file"), keys, strict=True):
        data = {key: base64.b64encode(values[key].encode()).decode()}
        namespace.api.create("Secret", f"{name}-{secret}", data=data)
    subject = {"kind": "AgentRun", "name": name}
    bound = [f"{name}-{item}" for item in ("provider", "whole", "file")]
    namespace.api.create("SecretBinding", name, {"subjects": [subject], "allowedSecrets": bound})
    namespace.api.create(
        "AgentProvider",
        name,
        {
            "binary": "sh",
            "argsTemplate": ["-c", PRINT_VALUES + WAYS[way]],
            "secretEnv": [{"name": "PROVIDER_KEY", "secretName": f"{name}-provider", "key": "PROVIDER_KEY"}],
            "workload": {"image": IMAGE},
        },
    )
    namespace.api.create("Agent", name, {"providerRef": {"name": name}})
    volume = {"type": "secret", "name": "keys", "mountPath": "/keys", "secretName": f"{name}-file"}
    namespace.api.create(
        "AgentRun",
        name,
        {
            "agentRef": {"name": name},
            "implementation": {"inline": {"text": MARK}},
            "runtime": {"type": "job"},
            "secrets": [f"{name}-whole"],
            "workload": {"volumes": [volume]},
        },
    )
    return name


def forms(value):
    """The encodings in which programs print a value; base64 is how the Secret itself is stored."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return {value.encode(), escaped.encode(), quote(value, safe="").encode()}


def written(bed, directories):
    """Everything that our processes wrote, by location; volumes of mounted Secrets are excluded."""
    outputs = {"metrics": bed.metrics().encode(), "the controllers' output": bed.last_output().encode()}
    for directory in directories:
        for path in Path(directory).rglob("*"):
            if path.is_file() and not path.is_symlink() and "/pods/" not in str(path):
                outputs[str(path)] = path.read_bytes()
    return outputs


def test_canaries_are_nowhere_that_we_write(namespace, record_property):
    """In succeeded and failed runs, printed values are redacted in status, logs and history and appear nowhere else."""
    ways = [way for _ in range(5 if FULL else 1) for way in WAYS]
    values = {
        number: {
            key: f'c4nary/{secrets.token_hex(8)}+"{key[0]}' for key in ("PROVIDER_KEY", "WHOLE_KEY", "key")
        }
        for number in range(len(ways))
    }
    runs = [start(namespace, number, way, values[number]) for number, way in enumerate(ways)]
    for name in runs:
        namespace.await_(
            lambda name=name: (
                (namespace.api.get("AgentRun", name).get("status") or {}).get("phase") in TERMINAL
            ),
            f"that {name} ends",
            seconds=120,
        )
    for name in runs:
        namespace.api.delete("AgentRun", name)
    namespace.await_(
        lambda: not namespace.api.all("AgentRun"), "that all are stored and deleted", seconds=120
    )
    bed = namespace.bed
    contents = written(bed, [bed.directory, bed.directory_of_history, bed.server.directory])
    reported = [path for path, content in contents.items() if MARK.encode() in content]
    assert any("history" in item for item in reported), sorted(contents)
    assert any(item.endswith((".db", "-wal")) for item in reported), sorted(contents)
    outputs = [
        f"{way}: {key} of run-{number} is in {path}"
        for number, way in enumerate(ways)
        for key, value in values[number].items()
        for form in forms(value)
        for path, content in contents.items()
        if form in content
    ]
    record_trials(
        record_property,
        row="23: canary secrets in env, files, args, URLs, errors",
        bed="P",
        seeds=range(len(ways)),
        failures=len({item.split(":")[0] for item in outputs}),
    )
    assert outputs == []
