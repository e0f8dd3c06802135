"""Agents from shell scripts, executed by the real runner in their containers, and their runs."""

from contextlib import suppress
from pathlib import Path

from contract.engine.engine_namespace import COUNT
from jangar.api.phases import TERMINAL

SAY = 'printf \'{"said": "%s"}\' "$MARK" > "$JANGAR_RESULT_PATH"\n'
"""Writes a result and keeps running."""
WITH_COMPANY = """
seconds=1$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
sleep $seconds & printf '{"beside": "%s"}' $seconds > "$JANGAR_RESULT_PATH"
echo all said
"""
"""Starts a background process, writes that process's unique argument as a result, and keeps running."""
ANSWER = 'printf \'{"answer": "%s"}\' "$TASK" > "$JANGAR_RESULT_PATH"'


def is_running(*words: str) -> bool:
    """Whether a process of this machine has this command line."""
    wanted = "\0".join(words) + "\0"
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_text(errors="replace") == wanted:
                return True
    return False


class Agents:
    """Agents from shell scripts, and their runs."""

    def __init__(self, namespace, image):
        self.namespace, self.api, self.image = namespace, namespace.api, image

    def provider(self, name, script):
        env = {
            "MARK": '{{ parameters.mark | default("none") }}',
            "LEDGER": self.namespace.bed.ledger(self.api.namespace),
            "ITERATION": "{{ agentRun.iteration | default(1) }}",
            "TASK": "{{ implementation.text }}",
        }
        args = ["-c", COUNT + script]
        # A script is not a template: its braces are literal.
        self.api.create(
            "AgentProvider",
            name,
            {"binary": "sh", "argsTemplate": args, "envTemplate": env, "workload": {"image": self.image}},
        )

    def agent(self, name, script, **defaults):
        self.provider(name, script)
        self.api.create("Agent", name, {"providerRef": {"name": name}, "defaults": defaults})

    def run(self, agent, name="run", mark="work", **spec):
        given = {
            "agentRef": {"name": agent},
            "implementation": {"inline": {"text": "say {{ parameters.mark }}"}},
            "runtime": {"type": "job"},
            "parameters": {"mark": mark},
            **spec,
        }
        self.api.create("AgentRun", name, given)
        return name

    def workflow(self, agent, *steps, name="run", **spec):
        """A run with several steps; each records its executions under its own name."""
        marked = [
            {**step, "parameters": {"mark": step["name"], **step.get("parameters", {})}} for step in steps
        ]
        return self.run(agent, name, runtime={"type": "workflow"}, workflow={"steps": marked}, **spec)

    def steps(self, name="run"):
        workflow = self.status(name).get("workflow") or {}
        return {step["name"]: step for step in workflow.get("steps") or ()}

    def status(self, name):
        return self.api.get("AgentRun", name).get("status") or {}

    def reaches(self, name, phase):
        return self.namespace.await_(
            lambda: status if (status := self.status(name)).get("phase") == phase else None,
            f"that {name} is {phase}",
        )

    def ends(self, name, phase):
        status = self.namespace.await_(
            lambda: status if (status := self.status(name)).get("phase") in TERMINAL else None,
            f"that {name} ends",
        )
        assert status["phase"] == phase, self.namespace.state()
        return status

    def says_all(self, name):
        """Wait until the program has written its result and started its work."""
        job = self.status(name)["job"]["name"]

        def reported():
            pods = self.api.all("Pod", **{"batch.kubernetes.io/job-name": job})
            return pods and "all said" in self.api.logs(pods[0]["metadata"]["name"])

        self.namespace.await_(reported, f"that {name} has written its result")

    def is_alone(self, outputs):
        """The background process of the program has ended, if its processes run on this machine."""
        if self.namespace.bed.name == "laptop":
            assert not is_running("sleep", outputs["beside"])

    def begins(self, name, mark="work"):
        self.reaches(name, "Running")
        self.namespace.await_(lambda: self.namespace.executions()[mark], f"that the program of {name} begins")
