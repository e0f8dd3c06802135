"""Agents on a laptop get canary secrets in every way and print them in every way: our processes neither write nor
return them.

The raw logs of a pod belong to the work; those of agents are written by our runner and are searched.
"""

import secrets

import pytest

from e2e.canary_scan import answered, forms, written
from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess, run, step, tool
from jangar.api.phases import TERMINAL
from support.proving import FULL
from support.reliability_page import record_trials
from support.runner_availability import why_no_runner

pytestmark = [
    pytest.mark.xdist_group("laptop"),
    pytest.mark.skipif(why_no_runner() is not None, reason=str(why_no_runner())),
]

MARK = "plain-word"
"""A marker that is not secret, printed with the canaries: the search must find it."""
MIN_MARKED = 20
PRINT_VALUES = f"""
escaped() {{ printf %s "$1" | sed 's/"/\\\\"/g'; }}
tell() {{
  echo "{MARK} $1"; echo "{MARK} $1" >&2
  printf '{{"said": "{MARK} %s", "%s": 1}}' "$(escaped "$1")" "$(escaped "$1")" > "$JANGAR_RESULT_PATH"
}}
each() {{ for one in "$ENV_KEY" "$WHOLE_KEY" "$(cat /keys/key)"; do "$@" "$one"; done; }}
urlencode() {{ printf %s "$1" | sed 's/%/%25/g; s|/|%2F|g; s/+/%2B/g; s/"/%22/g; s/ /%20/g'; }}
urls() {{ tell "https://bot:$1@git.example.org/r.git"; tell "https://x.example.org/?a=1&token=$1#f"
  tell "https://x.example.org/?token=$(urlencode "$1")"; tell "https://$(urlencode "$1" | tr A-F a-f)@x"; }}
encoded() {{ tell "$(printf %s "$1" | base64 -w0)"; tell "Basic $(printf %s "bot:$1" | base64 -w0)"
  tell "$(printf %s "user:$1:more" | base64 -w0 | tr '+/' '-_')"; }}
as_args() {{ tell "$1"; sh -c 'echo "$0 $1"; true' "$1" "--token=$1"; }}
as_error() {{ "$1" 2>&1; sh -c "cd \"/no/$1\"" 2>&1; echo "fatal: cannot open $1" >&2; }}
quiet() {{ printf '{{"token": "%s"}}' "$(escaped "$1")" > "$JANGAR_RESULT_PATH"; }}
plain_result() {{ printf %s "$1" > "$JANGAR_RESULT_PATH"; }}
control() {{
  [ -z "$AGENT_LOOP_CONTROL_PATH" ] ||
    printf '{{"more": true, "why": "%s"}}' "$(escaped "$1")" > "$AGENT_LOOP_CONTROL_PATH"
}}
"""
TRACEBACK = """python3 -c 'import os; raise ValueError("bad key " + os.environ["ENV_KEY"])'"""
WAYS = {
    "env, file, args": "each as_args",
    "urls": "each urls",
    "encoded": "each encoded",
    "errors": "each as_error; exit 3",
    "traceback": f"each tell; {TRACEBACK}",
    "output": "each quiet",
    "plain output": "each plain_result",
    "killed": "each urls; kill -9 $$",
}
FOREVER = 'each tell; echo told; trap "exit 143" TERM; while :; do sleep 0.1; done'


def named(kind, name, spec, group="agents"):
    version = f"{group}.proompteng.ai/v1alpha1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


class Canaries:
    """Runs on one laptop, each with its own Secrets."""

    def __init__(self, laptop):
        self.laptop, self.http = laptop, LaptopClient(laptop)
        self.values: dict[str, list[str]] = {}
        self.objects = [tool("echoes", 'echo "got {{ parameters.text }}"')]

    def agent(self, name, script, *names):
        """An agent with its values as a variable, as a whole Secret and as a file; its runs may use them."""
        keys = {"env": "ENV_KEY", "whole": "WHOLE_KEY", "file": "key"}
        values = {item: f'c4n+{secrets.token_hex(9)}/"{item[0]}' for item in keys}
        self.values[name] = list(values.values())
        provider = {
            "binary": "sh",
            "argsTemplate": ["-c", PRINT_VALUES + script],
            "secretEnv": [{"name": "ENV_KEY", "secretName": f"{name}-env", "key": "ENV_KEY"}],
        }
        given = [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"{name}-{item}"},
                "stringData": {key: values[item]},
            }
            for item, key in keys.items()
        ]
        bound = {
            "subjects": [
                {"kind": "Agent", "name": name},
                *({"kind": "AgentRun", "name": item} for item in names),
            ],
            "allowedSecrets": [f"{name}-{item}" for item in keys],
        }
        self.objects += [
            *given,
            named("SecretBinding", name, bound, "security"),
            named("AgentProvider", name, provider),
            named("Agent", name, {"providerRef": {"name": name}}),
        ]

    def spec(self, name, **more):
        volume = {"type": "secret", "name": "keys", "mountPath": "/keys", "secretName": f"{name}-file"}
        return {
            "agentRef": {"name": name},
            "implementation": {"inline": {"text": MARK}},
            "runtime": {"type": "job"},
            "secrets": [f"{name}-whole"],
            "workload": {"volumes": [volume]},
            **more,
        }

    def start(self, name, script, **more):
        self.agent(name, script, name)
        self.objects.append(named("AgentRun", name, self.spec(name, **more)))

    def phases(self, kind="AgentRun"):
        remaining = self.http.get(f"/v1/kinds/{kind}/objects")["items"]
        return {item["metadata"]["name"]: (item.get("status") or {}).get("phase") for item in remaining}


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    process = LaptopProcess(tmp_path_factory.mktemp("canaries"))
    process.start()
    yield process
    process.end()


def begin(canaries):
    """Start runs that succeed, fail, are killed, cancelled, retried, looped, and run as a step of an orchestration."""
    for number in range(3 if FULL else 1):
        for index, script in enumerate(WAYS.values()):
            canaries.start(f"way-{number}-{index}", script)
    again = {"name": "try", "retries": 1}
    loop = {"maxIterations": 2, "condition": {"expression": "iteration.last.control.more"}}
    workflow = {"runtime": {"type": "workflow"}}
    canaries.start("retried", "each urls; each encoded; exit 3", workflow={"steps": [again]}, **workflow)
    steps = [{"name": "improve", "loop": loop}, {"name": "report"}]
    canaries.start("looped", "each tell; each control", workflow={"steps": steps}, **workflow)
    canaries.start("stopped", FOREVER)
    canaries.agent("stepped", "each encoded; each tell", "ordered")
    agent = {"name": "work", "kind": "AgentRun", "dependsOn": [], **canaries.spec("stepped")}
    agent["outputs"] = [{"name": "said"}]
    reported = step("told", "echoes", "work") | {"with": {"text": "{{ steps.work.outputs.said }}"}}
    canaries.laptop.apply(*canaries.objects, run("ordered", agent, reported))


def settle(canaries):
    laptop = canaries.laptop
    laptop.until(lambda: canaries.phases().get("stopped") == "Running", seconds=120)
    laptop.apply(named("AgentRun", "stopped", canaries.spec("stopped", cancel=True)))
    laptop.until(lambda: TERMINAL.issuperset(canaries.phases().values()), seconds=180)
    laptop.until(lambda: canaries.phases("OrchestrationRun")["ordered"] in TERMINAL, seconds=60)


def leaks(canaries, contents):
    """Locations of a value, and the number of locations of the marker."""
    wanted = {
        form: name for name, values in canaries.values.items() for value in values for form in forms(value)
    }
    locations, marked = set(), 0
    for where, content in contents:
        marked += MARK.encode() in content
        locations |= {f"{name}: {form!r} in {where}" for form, name in wanted.items() if form in content}
    return sorted(locations), marked


def test_canaries_are_nowhere_on_a_whole_laptop(laptop, record_property):
    """While the runs exist and after they are deleted: objects in every version, events, files, history, HTTP."""
    canaries = Canaries(laptop)
    begin(canaries)
    settle(canaries)
    expected = {"retried": "Failed", "looped": "Succeeded", "stopped": "Cancelled"}
    assert expected.items() <= canaries.phases().items()
    assert canaries.phases("OrchestrationRun") == {"ordered": "Succeeded"}
    there, marked = leaks(canaries, [*written(laptop), *answered(canaries.http)])
    assert marked > MIN_MARKED
    names = [name for name in canaries.values if name != "stepped"]
    laptop.done("delete", "run", "ordered", "--wait")
    laptop.done("delete", "agentrun", *names, "--wait")
    gone, marked = leaks(canaries, [*written(laptop), *answered(canaries.http)])
    assert marked > MIN_MARKED
    remaining = sorted({*there, *gone})
    record_trials(
        record_property,
        row="23: canary secrets on a whole laptop, in objects, files and answers",
        bed="P",
        seeds=range(len(canaries.values)),
        failures=len({item.split(":")[0] for item in remaining}),
    )
    assert remaining == []
