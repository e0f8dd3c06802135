"""What an AgentRun wants done, from caches."""

import json

import pytest

from jangar.api.reasons import Reason
from jangar.controllers.agentrun.job_request import AgentCaches, AgentRunRequests, is_template
from jangar.controllers.definition.checks import AgentCheck, check_provider
from jangar.domain.agentrun.command import AgentDefaults
from jangar.domain.job_execution.command import Command
from jangar.domain.job_execution.observation import WorkDefined, WorkHeld, WorkMissing, WorkRejected
from jangar.domain.job_execution.record import AttemptLimits
from jangar.domain.policies.verdicts import Deny
from jangar.lint.conditions import compile_loop
from kubekit.cache.object_cache import Cache, Cached

KINDS = ("Agent", "AgentProvider", "ImplementationSpec", "Memory", "VersionControlProvider")
SPEC = {
    "agentRef": {"name": "coder"},
    "implementationSpecRef": {"name": "fix"},
    "runtime": {"type": "job"},
}
OWNER = {"apiVersion": "x/v1", "kind": "OrchestrationRun", "name": "r", "uid": "r1", "controller": True}


def an_object(name, *, spec=None, status=None, **metadata):
    meta = {"name": name, "namespace": "ci", "uid": f"uid-{name}", "resourceVersion": "1", "generation": 1}
    return {"metadata": meta | metadata, "spec": spec or {}, "status": status or {}}


def a_cache(objects):
    cache = Cache({}, report=lambda error: pytest.fail(str(error)))
    for name, spec in objects.items():
        cache.record_write(an_object(name, spec=spec))
    return cache


def everything():
    return {
        "Agent": {
            "coder": {
                "providerRef": {"name": "sh"},
                "defaults": {"timeoutSeconds": 9, "retryLimit": 2},
            }
        },
        "AgentProvider": {"sh": {"binary": "sh"}},
        "ImplementationSpec": {"fix": {"text": "fix it"}},
    }


def order(there=None, *, spec=None, status=None, denial=None, **metadata):
    there = everything() if there is None else there
    caches = AgentCaches(of={kind: a_cache(there.get(kind, {})) for kind in KINDS})
    orders = AgentRunRequests(
        caches=caches, defaults=AgentDefaults(image="jangar"), compile_loop=compile_loop, denial=denial
    )
    return orders(Cached.of(an_object("run", spec=SPEC | (spec or {}), status=status, **metadata)))


def test_a_run_is_ordered_with_the_terms_of_its_agent():
    """The Agent's time limit and retries really apply."""
    found = order()
    assert isinstance(found.work, WorkDefined)
    assert isinstance(found.command, Command)
    assert (found.attempt_limits.timeout_seconds, found.attempt_limits.retries) == (9, 2)


def test_a_run_of_a_step_is_repeated_by_its_step_alone():
    """Both would multiply."""
    assert order(ownerReferences=[OWNER]).attempt_limits.retries is None


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    ("absent", "words"),
    [
        pytest.param("Agent", 'Agent "coder" does not exist', id="agent"),
        pytest.param("AgentProvider", 'AgentProvider "sh" does not exist', id="provider"),
        pytest.param("ImplementationSpec", 'ImplementationSpec "fix" does not exist', id="task"),
    ],
)
def test_what_is_not_there_yet_is_waited_for(absent, words):
    """It is no mistake."""
    assert order({kind: item for kind, item in everything().items() if kind != absent}).work == WorkMissing(
        message=words
    )


def test_a_named_repository_or_memory_that_is_not_there_is_waited_for():
    """Both of them, by their own kind."""
    assert isinstance(order(spec={"vcsRef": {"name": "hub"}}).work, WorkMissing)
    assert isinstance(order(spec={"memoryRef": {"name": "m"}}).work, WorkMissing)


@pytest.mark.parametrize("runtime", ["temporal", "custom"])
def test_other_runtimes_are_refused_by_name(runtime):
    """The message also names the supported one."""
    found = order(spec={"runtime": {"type": runtime}}).work
    assert isinstance(found, WorkRejected)
    assert runtime in found.message
    assert "job" in found.message


WORKFLOW = {
    "runtime": {"type": "workflow"},
    "parameters": {"who": "run", "mood": "good"},
    "workflow": {
        "steps": [
            {"name": "plan", "parameters": {"who": "plan"}, "retries": 0, "timeoutSeconds": 0},
            {
                "name": "code",
                "implementation": {"inline": {"text": "code for {{ parameters.who }}"}},
                "workload": {"image": "other"},
                "retries": 4,
                "retryBackoffSeconds": 7,
                "loop": {"maxIterations": 2, "condition": {"expression": "iteration.last.control.more"}},
            },
        ]
    },
}
AT_CODE = {
    "workflow": {
        "steps": [
            {"name": "plan", "phase": "Succeeded"},
            {"name": "code", "loop": {"currentIteration": 2, "maxIterations": 2}},
        ]
    }
}


def files(found):
    return {name.rpartition("/")[2]: json.loads(text) for name, text in found.command.files.items()}


def test_a_workflow_begins_with_its_first_step():
    """A step's parameters win over the run's, and its own terms over the Agent's."""
    found = order(spec=WORKFLOW)
    assert isinstance(found.work, WorkDefined)
    assert [item.name for item in found.workflow] == ["plan", "code"]
    assert found.attempt_limits == AttemptLimits(timeout_seconds=0)
    run = files(found)["run.json"]
    assert run["parameters"] == {"who": "plan", "mood": "good"}
    assert run["agentRun"]["step"] == "plan"
    assert run["prompt"] == "fix it"
    assert "loop" not in files(found)["agent-runner.json"]
    assert found.command.labels["agents.proompteng.ai/step"] == "plan"
    assert found.command.labels["agents.proompteng.ai/step-index"] == "0"


def test_a_workflow_goes_on_with_the_step_that_the_record_says():
    """With its task, its container and its iteration."""
    found = order(spec=WORKFLOW, status=AT_CODE)
    assert found.attempt_limits == AttemptLimits(timeout_seconds=9, retries=4, backoff_seconds=7)
    assert found.command.image == "other"
    assert files(found)["run.json"]["prompt"] == "code for run"
    assert files(found)["run.json"]["agentRun"]["iteration"] == 2
    assert files(found)["agent-runner.json"]["loop"] == {
        "controlPath": "/workspace/.agentrun/loop-control.json"
    }
    assert found.command.labels["agents.proompteng.ai/step-iteration"] == "2"


def test_everything_that_is_wrong_with_a_workflow_is_reported_at_once():
    """Whether or not its Agent is there."""
    steps = [{"name": "a", "loop": {"maxIterations": 2, "condition": {"expression": "1 +"}}}, {"name": "a"}]
    found = order({}, spec={"runtime": {"type": "workflow"}, "workflow": {"steps": steps}}).work
    assert isinstance(found, WorkRejected)
    assert found.reason == "InvalidSpec"
    assert "steps[0].loop.condition.expression" in found.message
    assert "steps[1].name" in found.message
    none = order(spec={"runtime": {"type": "workflow"}}).work
    assert "the workflow has no steps" in none.message


def test_admission_is_checked_before_the_first_start_only():
    """What was begun is not held back half-way."""
    assert isinstance(order(denial=lambda _: None).work, WorkHeld)
    assert isinstance(
        order(denial=lambda _: None, status={"admission": {"phase": "Admitted"}}).work, WorkDefined
    )
    assert isinstance(
        order(denial=lambda _: None, status={"job": {"name": "j", "attempt": 1}}).work, WorkDefined
    )


def test_every_attempt_is_judged_by_what_the_run_names_by_then():
    """Admitted, then the provider names another Secret: neither the first start nor a later attempt is given it."""

    def denial(_):
        return Deny(reason=Reason.SECRET_NOT_BOUND, message="no SecretBinding")

    admitted = {"admission": {"phase": "Admitted"}}
    first = order(denial=denial, status=admitted).work
    assert first == WorkHeld(reason=Reason.SECRET_NOT_BOUND, message="no SecretBinding")
    again = order(denial=denial, status=admitted | {"job": {"name": "j", "attempt": 1}}).work
    assert again == WorkRejected(reason=Reason.SECRET_NOT_BOUND, message="no SecretBinding")


def test_a_template_is_only_copied():
    """By its annotation."""
    marked = an_object("t", annotations={"agents.proompteng.ai/template": "true"})
    assert is_template(Cached.of(marked))
    assert not is_template(Cached.of(an_object("t")))


def test_agents_and_providers_say_whether_they_are_ready():
    """A missing provider is no mistake; a template that would compute is one."""
    agent = Cached.of(an_object("coder"))
    spec = {"providerRef": {"name": "sh"}}
    assert AgentCheck(providers=a_cache({"sh": {"binary": "sh"}}))(agent, spec).missing == []
    assert AgentCheck(providers=a_cache({}))(agent, spec).missing[0].reason == "ReferenceNotFound"
    wrong = check_provider(agent, {"binary": "", "argsTemplate": ["{{ 1 * 2 }}"]}).problems
    assert [item.path for item in wrong] == [("spec", "binary"), ("spec", "argsTemplate", 0)]
