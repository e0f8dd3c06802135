"""Output of agents and users is data: templates in values stay text, and no forged result changes an outcome."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from jangar.api.phases import Phase
from jangar.api.tools import ToolSpec
from jangar.domain.agentrun.templates import Templates
from jangar.domain.job_execution.facts import ContainerFacts, JobFacts, PodFacts, TemplateNames, Terminated
from jangar.domain.job_execution.outcome import artifacts_of, read_outcome, report_of
from jangar.domain.orchestration.outputs import OutputsProblem, read_outputs
from jangar.domain.orchestration.templates import parse_template, render
from jangar.domain.toolrun import command_of
from jangar.runner.output import MAX_LINE_LENGTH, Lines, Mask
from jangar.runner.report import Ending, outputs_of, termination_message
from jangar.runner.usage import MAX_TOKENS, MAX_USD, UsageReader
from support.hostile_agents import attacked
from support.proving import FULL, prove

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
FRAGMENTS = [
    "{{", "}}", "{%", "%}", "{#", "#}", "{{ parameters.other }}", "{{ steps.a.outputs.b }}", "{{ systemPrompt }}",
    "{{ memory }}", "{% if true %}", "{% endif %}", "{% raw %}", "$(HOME)", "$$(HOME)", "${HOME}", "$", "`id`",
    "$(id)", "; rm -rf /", "'", '"', "\\", "\n", "\r", "|", "default(", '?? "x"', "\u202e", "é", "{{{{", " ",
]  # fmt: skip
payloads = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=8).map("".join),
    st.text(max_size=40).map(lambda text: text.replace("\0", "")),
)


class Given:
    """A scope in which every name has the same value."""

    def __init__(self, value):
        self.value = value

    def parameter(self, _):
        return self.value

    def output(self, *_):
        return self.value


def expanded(text, env):
    """`$(NAME)` and `$$` expanded as by a kubelet, according to Kubernetes' own rules."""
    parts, position = [], 0
    while position < len(text):
        if text[position] == "$" and position + 1 < len(text):
            after = text[position + 1]
            if after == "$":
                parts.append("$")
                position += 2
                continue
            end = text.find(")", position)
            if after == "(" and end > 0:
                name = text[position + 2 : end]
                parts.append(env.get(name, f"$({name})"))
                position = end + 1
                continue
        parts.append(text[position])
        position += 1
    return "".join(parts)


def test_templates_in_prompts_and_parameters_stay_data(record_property):
    """In an orchestration's `with`, a tool's command, a provider's templates and the pod: inserted once, unchanged."""

    def holds(payload):
        assert render(parse_template("a {{ parameters.x }} {{ steps.s.outputs.o }}"), Given(payload)) == (
            f"a {payload} {payload}"
        )
        values = {"parameters": {"x": payload, "other": "STOLEN"}, "implementation": {"text": payload}}
        filled = Templates(values).fill("{{ parameters.x }}|{{ implementation.text }}")
        assert filled == f"{payload}|{payload}"
        tool = ToolSpec.model_validate(
            {
                "image": "any",
                "command": ["sh", "-c", "echo", "{{ parameters.x }}"],
                "env": [{"name": "A", "value": "{{ parameters.x }}"}],
            }
        )
        command = command_of(tool, {"x": payload})
        env = {"HOME": "STOLEN", "id": "STOLEN"}
        assert expanded(command.command[3], env) == payload
        assert expanded(command.env["A"], env) == payload
        _agents_text(payload)

    prove(
        record_property,
        "22: template injection in prompts and parameters",
        1000 if FULL else 200,
        payloads,
        holds,
    )


def _agents_text(payload):
    """The task that reaches the runner of an agent."""
    run = {
        "agentRef": {"name": "a"},
        "runtime": {"type": "job", "config": {}},
        "workload": {"volumes": [], "image": "any"},
        "implementation": {"inline": {"text": "{{ parameters.x }}"}},
        "parameters": {"x": payload, "other": "STOLEN"},
    }
    attack = {
        "run": run,
        "agent": {"providerRef": {"name": "p"}},
        "provider": {"binary": "sh", "argsTemplate": ["{{ implementation.text }}", "{{ parameters.x }}"]},
        "vcs": {"provider": "github"},
        "memory": "m",
    }
    runner = json.loads(attacked(attack).files["data"]["agent-runner.json"])
    assert runner["adapter"]["exec"]["args"] == [payload, payload]


numbers = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(), st.booleans(), st.text(max_size=5), st.none()
)
forged_reports = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["succeeded", "failed"]),
        "exitCode": st.one_of(st.integers(-1, 300), st.text(max_size=3)),
        "usage": st.dictionaries(st.sampled_from(["inputTokens", "costUsd", "x"]), numbers),
        "artifacts": st.lists(
            st.dictionaries(st.sampled_from(["name", "url", "path"]), st.text(max_size=9)), max_size=4
        ),
    },
)
results = st.one_of(
    st.fixed_dictionaries(
        {"runner": forged_reports}, optional={"a": st.text(max_size=10), "big": st.just("x" * 4060)}
    ).map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=200),
    st.just(b"x" * 5000),
    st.just(b"{" * 4000),
)
events = st.fixed_dictionaries(
    {"type": st.sampled_from(["system", "result", "thread.started", "turn.completed", "item.completed"])},
    optional={
        "subtype": st.just("init"),
        "usage": st.dictionaries(
            st.sampled_from(["input_tokens", "output_tokens", "cached_input_tokens"]), numbers
        ),
        "total_cost_usd": numbers,
        "result": st.text(max_size=20),
    },
)
lines = st.lists(
    st.one_of(
        events.map(lambda event: json.dumps(event).encode()),
        st.just(b"y" * (MAX_LINE_LENGTH + 7)),
        st.binary(max_size=30),
    ),
    max_size=6,
)
ends = st.tuples(results, lines, st.integers(0, 255))


def test_no_forged_result_changes_an_outcome(record_property):
    """Phase and exit code come from the container; runner fields come from the runner; numbers are plausible."""

    def holds(end):
        written, output, code = end
        reader = UsageReader("auto")
        taker = Lines(Mask(), reader.take)
        shown = b"".join([*map(taker.take, (item + b"\n" for item in output)), taker.end()])
        assert all(len(line) <= MAX_LINE_LENGTH for line in shown.split(b"\n"))
        reported = reader.usage.counts.values() if reader.usage else ()
        assert all(type(count) is int and 0 <= count <= MAX_TOKENS for count in reported)
        assert reader.usage is None or 0 <= (reader.usage.cost_usd or 0) <= MAX_USD
        ending = Ending(
            provider="p", argv=["sh"], code=code, started_at=NOON, finished_at=NOON, usage=reader.usage
        )
        outputs = outputs_of(written, len(written), reader.last_message, Mask())
        message = termination_message(outputs, ending, Mask()).decode("utf-8", "replace")
        _judge(message, code)

    prove(
        record_property,
        "24: forged results and usage, lines over 64 KiB",
        500 if FULL else 150,
        ends,
        holds,
    )


def _judge(message, code):
    end = Terminated(
        exit_code=code, reason=None, started_at=NOON, finished_at=NOON + timedelta(seconds=5), message=message
    )
    container = ContainerFacts(name="agent-runner", terminated=end)
    pod = PodFacts(name="p", uid="p1", phase="Running", containers=(container,))
    outcome = read_outcome(
        TemplateNames(containers=("agent-runner",)), job=JobFacts(name="j", uid="j1"), pods=(pod,)
    )
    read = read_outputs(message, may_be_cut=True)
    assert outcome.exit_code == code
    assert (outcome.phase is Phase.SUCCEEDED) == (code == 0)
    own = report_of(message)
    if own is not None:
        assert own["exitCode"] == code
        assert artifacts_of(own) == []
    else:
        assert isinstance(read, OutputsProblem) or "runner" not in read
