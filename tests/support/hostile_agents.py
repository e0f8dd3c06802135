"""Hostile AgentRuns with all that they reference: strategies, and the Jobs that would run.

The manifest is built as in the product: the run is read together with its references, and its command becomes a Job.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from jangar.controllers.agentrun.job_request import AgentCaches, AgentRunRequests
from jangar.controllers.resources import CHILD_UID, MANAGED_BY
from jangar.domain.agentrun.command import AgentDefaults
from jangar.domain.policies.request import NamedObjects, RunRequest, agent_run_request
from jangar.lint.conditions import compile_loop
from jangar.runtimes.kubernetes_job.manifest import AGENT_CONTAINER, Placement, files_manifest, job_manifest
from kubekit.cache.object_cache import Cache, Cached

KINDS = ("Agent", "AgentProvider", "ImplementationSpec", "Memory", "VersionControlProvider")
OURS = {**MANAGED_BY, CHILD_UID: "u1"}
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path

words = st.text(max_size=12)
secrets = st.sampled_from(["agents-controllers-token", "admin", "db-password", "mine"])
names = st.sampled_from(
    [
        "default",
        "agents-controllers",
        "jangar-files",
        "jangar-token",
        "jangar-workspace",
        CHILD_UID,
        "hostPID",
    ]
)
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), words, names, secrets),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(words, names), inner, max_size=3)
    ),
    max_leaves=6,
)
CONFIG_KEYS = [
    "serviceAccount", "serviceAccountName", "nodeSelector", "tolerations", "affinity", "resources",
    "podSecurityContext", "securityContext", "hostNetwork", "hostPID", "privileged", "priorityClassName",
    "schedulerName", "ttlSecondsAfterFinished", "backoffLimit", "initContainers", "automountServiceAccountToken",
    "volumes", "labels", "env", "envFrom", "topologySpreadConstraints", "runtimeClassName",
]  # fmt: skip
configs = st.fixed_dictionaries(
    {},
    optional={
        **{key: junk for key in CONFIG_KEYS},  # noqa: C420 - each draws its own
        "imagePullSecrets": st.lists(
            st.one_of(
                secrets,
                st.integers(1, 9),
                st.fixed_dictionaries({"name": st.one_of(secrets, st.integers(1, 9))}),
                junk,
            ),
            min_size=1,
            max_size=2,
        ),
    },
)
volumes = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["emptyDir", "pvc", "secret"]),
            "name": st.one_of(words, names, secrets),
            "mountPath": st.one_of(
                words, st.sampled_from(["/", "/workspace", TOKEN_PATH, "/proc", "/../etc"])
            ),
        },
        optional={"secretName": secrets, "claimName": names, "medium": words, "readOnly": st.booleans()},
    ),
    max_size=3,
)
key_ref = st.fixed_dictionaries({"name": secrets, "key": st.just("k")})
prompts = st.fixed_dictionaries(
    {"kind": st.sampled_from(["Secret", "ConfigMap"]), "name": secrets, "key": st.just("p")}
)
parameters = st.dictionaries(
    st.sampled_from(["repository", "repo", "issueRepository", "base", "head", "x", "mark"]),
    st.one_of(st.sampled_from(["evil/repo", "good/lab", "{{ parameters.x }}", "$(HOME)", "${HOME}"]), words),
    min_size=1,
    max_size=3,
)
tasks = st.fixed_dictionaries(
    {"text": st.sampled_from(["{{ parameters.x }} $(HOME)", "{{ systemPrompt }}", "{% if x %}{% endif %}"])},
    optional={
        "source": st.fixed_dictionaries(
            {"provider": st.sampled_from(["github", "linear"]), "externalId": st.just("evil/source#7")}
        ),
        "vcsRef": st.just({"name": "vcs"}),
        "contract": st.just({"mappings": [{"from": "mark", "to": "repository"}]}),
    },
)
agents = st.fixed_dictionaries(
    {"providerRef": st.just({"name": "p"}), "vcsRef": st.just({"name": "vcs"})},
    optional={
        "memoryRef": st.just({"name": "m"}),
        "defaults": st.fixed_dictionaries({}, optional={"systemPromptRef": prompts, "systemPrompt": words}),
    },
)
providers = st.fixed_dictionaries(
    {"binary": st.just("sh"), "argsTemplate": st.just(["{{ implementation.text }}"])},
    optional={
        "secretEnv": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["A", "HOME", "PATH"]), "secretName": secrets, "key": st.just("k")}
            ),
            max_size=2,
        ),
        "workload": st.fixed_dictionaries({}, optional={"image": words, "serviceAccountName": names}),
    },
)
hosts = st.fixed_dictionaries(
    {
        "provider": st.sampled_from(["github", "gitlab"]),
        "auth": st.fixed_dictionaries(
            {},
            optional={
                "method": st.sampled_from(["token", "app", "ssh", "none"]),
                "token": st.fixed_dictionaries({"secretRef": key_ref}),
                "app": st.fixed_dictionaries({"privateKeySecretRef": key_ref}),
                "ssh": st.fixed_dictionaries({"privateKeySecretRef": key_ref}),
            },
        ),
    }
)
workloads = st.fixed_dictionaries({"volumes": volumes}, optional={"image": words})
steps = st.fixed_dictionaries(
    {"name": st.just("s")},
    optional={
        "workload": workloads,
        "implementation": tasks.map(lambda task: {"inline": task}),
        "parameters": parameters,
    },
)
runs = st.fixed_dictionaries(
    {
        "agentRef": st.just({"name": "a"}),
        "runtime": st.fixed_dictionaries({"type": st.sampled_from(["job", "workflow"]), "config": configs}),
        "workload": workloads,
        "workflow": steps.map(lambda step: {"steps": [step]}),
        "implementation": tasks.map(lambda task: {"inline": task}),
        "parameters": parameters,
    },
    optional={
        "secrets": st.lists(secrets, max_size=2),
        "systemPromptRef": prompts,
        "vcsRef": st.just({"name": "vcs"}),
        "memoryRef": st.just({"name": "m"}),
        "vcsPolicy": st.fixed_dictionaries(
            {}, optional={"mode": st.sampled_from(["read-write", "read-only", "none"])}
        ),
    },
)
attacks = st.fixed_dictionaries(
    {"run": runs, "agent": agents, "provider": providers, "vcs": hosts, "memory": secrets}
)
"""A run and its references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """The input of admission, and the Job that would be created on approval; no Job if the run itself is rejected."""

    request: RunRequest
    job: dict[str, Any] | None
    files: dict[str, Any] | None


def attacked(attack: Mapping[str, Any]) -> Attacked:
    """Process the attack as the product does."""
    there = {
        "Agent": {"a": attack["agent"]},
        "AgentProvider": {"p": attack["provider"]},
        "VersionControlProvider": {"vcs": attack["vcs"]},
        "Memory": {"m": {"type": "redis", "connection": {"secretRef": {"name": attack["memory"]}}}},
        "ImplementationSpec": {},
    }
    run = _object("n", attack["run"], labels={CHILD_UID: "forged", "app.kubernetes.io/managed-by": "me"})
    orders = AgentRunRequests(
        caches=AgentCaches(of={kind: _cache(there[kind]) for kind in KINDS}),
        defaults=AgentDefaults(image="jangar"),
        compile_loop=compile_loop,
    )
    command = orders(Cached.of(run)).command
    request = agent_run_request(run, NamedObjects(find=lambda kind, name: {"spec": there[kind][name]}))
    if command is None:
        return Attacked(request=request, job=None, files=None)
    owner = {
        "apiVersion": "agents.proompteng.ai/v1alpha1",
        "kind": "AgentRun",
        "name": "n",
        "uid": "u1",
        "controller": True,
    }
    placement = Placement(name="n-1", namespace="ci", owner=owner, container=AGENT_CONTAINER, labels=OURS)
    return Attacked(
        request=request, job=job_manifest(command, placement), files=files_manifest(command, placement)
    )


def secrets_of(job: Mapping[str, Any]) -> Iterator[str]:
    """Every Secret that the Job's pod would get, wherever it is referenced."""
    pod = job["spec"]["template"]["spec"]
    for container in pod["containers"]:
        for variable in container.get("env") or ():
            if reference := (variable.get("valueFrom") or {}).get("secretKeyRef"):
                yield reference["name"]
        for source in container.get("envFrom") or ():
            yield source["secretRef"]["name"]
    for volume in pod.get("volumes") or ():
        if "secret" in volume:
            yield volume["secret"]["secretName"]
    for image_pull_secret in pod.get("imagePullSecrets") or ():
        yield image_pull_secret["name"]


def _object(name: str, spec: Mapping[str, Any], **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ci", "uid": "u1", "resourceVersion": "1", "generation": 1}
    return {"metadata": meta | metadata, "spec": dict(spec), "status": {}}


def _cache(objects: Mapping[str, Any]) -> Cache:
    def report(error: Exception) -> None:
        raise error

    cache = Cache({}, report=report)
    for name, spec in objects.items():
        cache.record_write(_object(name, spec))
    return cache
