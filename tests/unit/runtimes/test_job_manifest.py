"""The Job of an attempt: what holds of it whatever the command is."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.api.containers import Resources
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from jangar.domain.job_execution.command import Command, SecretVariable
from jangar.domain.job_execution.facts import template_names
from jangar.runtimes.kubernetes_job.manifest import (
    RESULT_PATH,
    RESULT_VARIABLE,
    TOOL_TEMPLATE,
    Placement,
    job_manifest,
)

texts = st.text(max_size=10)
maybe = st.one_of(st.none(), texts.filter(bool))
amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.one_of(st.integers(0, 9), st.just("1Gi")))
seconds = st.integers(0, 3600).map(lambda item: timedelta(seconds=item))
commands = st.builds(
    Command,
    image=texts.filter(bool),
    command=st.lists(texts, max_size=3).map(tuple),
    args=st.lists(texts, max_size=3).map(tuple),
    env=st.dictionaries(st.sampled_from(["HOME", "PATH", "X", RESULT_VARIABLE]), texts),
    working_dir=maybe,
    service_account=maybe,
    resources=st.one_of(st.none(), st.builds(Resources, requests=amounts, limits=amounts)),
    grace=st.one_of(st.none(), seconds),
    is_first_process=st.booleans(),
)
placements = st.builds(
    Placement,
    name=st.just("build-1"),
    namespace=st.just("ci"),
    owner=st.just({"kind": "ToolRun", "name": "build", "uid": "c1", "controller": True}),
    labels=st.dictionaries(st.sampled_from(["a", "b"]), texts),
    deadline=st.integers(1, 10**6).map(lambda item: timedelta(seconds=item)),
    service_account=maybe,
    max_grace=st.one_of(st.none(), seconds),
    share_processes=st.booleans(),
)


@given(commands, placements)
def test_every_pod_is_restricted_and_has_no_token(command, placement):
    """The `restricted` pod security standard holds, and no token of the API is in the pod."""
    pod = job_manifest(command, placement)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC", "volumes", "initContainers"}
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] != 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert security == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert not container.keys() & {"ports", "volumeMounts", "envFrom"}


@pytest.mark.rule("GC-1")
@given(commands, placements)
def test_every_job_is_held_and_neither_retries_nor_expires(command, placement):
    """Our finalizer on the Job and on its pods, no TTL, no retry, and always a last resort in time."""
    job = job_manifest(command, placement)
    spec = job["spec"]
    assert job["metadata"]["finalizers"] == [OUTCOME_FINALIZER]
    assert spec["template"]["metadata"]["finalizers"] == [OUTCOME_FINALIZER]
    assert spec["backoffLimit"] == 0
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["activeDeadlineSeconds"] == placement.deadline.total_seconds()
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert not spec.keys() & {"ttlSecondsAfterFinished", "suspend", "completions", "parallelism"}
    assert job["metadata"]["ownerReferences"] == [placement.owner]


@given(commands, placements)
def test_every_manifest_is_json_and_states_the_request(command, placement):
    """Nothing is lost, and the same command gives the same Job."""
    job = job_manifest(command, placement)
    assert json.loads(json.dumps(job)) == job == job_manifest(command, placement)
    assert template_names(job["spec"]["template"]) == TOOL_TEMPLATE
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == command.image
    assert tuple(container.get("command", ())) == command.command
    assert tuple(container.get("args", ())) == command.args
    env = {item["name"]: item["value"] for item in container["env"]}
    assert env == {"HOME": "/tmp", RESULT_VARIABLE: RESULT_PATH} | dict(command.env)  # noqa: S108 - as it is
    assert pod.get("serviceAccountName") == (command.service_account or placement.service_account)
    assert ("terminationGracePeriodSeconds" in pod) == (command.grace is not None)
    assert ("resources" in container) == (command.resources is not None)


@given(commands, placements)
def test_operators_alone_loosen_the_pods_of_work(command, placement):
    """Their settings replace the restricted context; containers stay unprivileged."""
    pod = job_manifest(command, replace(placement, security_context={"runAsUser": 1000}))["spec"]["template"][
        "spec"
    ]
    assert pod["securityContext"] == {"runAsUser": 1000}
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False


@pytest.mark.rule("CAN-6")
@given(commands, placements)
def test_no_grace_period_is_longer_than_a_stop_may_take(command, placement):
    """B16: a tool's own grace period, cut to what the bound of a stop leaves."""
    pod = job_manifest(command, placement)["spec"]["template"]["spec"]
    if command.grace is not None:
        limits = [command.grace, *([placement.max_grace] if placement.max_grace is not None else [])]
        assert pod["terminationGracePeriodSeconds"] == min(limits).total_seconds()


@given(commands, placements)
def test_only_pods_of_tools_without_credentials_share_their_process_namespace(command, placement):
    """B16: never where the program must be PID 1, never together with a Secret, and not where operators forbid it."""
    pod = job_manifest(command, placement)["spec"]["template"]["spec"]
    allowed = placement.share_processes and not command.is_first_process
    assert pod.get("shareProcessNamespace", False) == allowed
    secret = replace(command, secret_env=(SecretVariable(name="T", secret="s", key="k"),))  # noqa: S106 - a name
    assert "shareProcessNamespace" not in job_manifest(secret, placement)["spec"]["template"]["spec"]
    agent = replace(command, is_first_process=True)
    assert "shareProcessNamespace" not in job_manifest(agent, placement)["spec"]["template"]["spec"]
