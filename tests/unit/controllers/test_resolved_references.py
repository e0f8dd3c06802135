"""Whose step a run is, for the bindings of an Orchestration: an owner reference alone proves nothing."""

import pytest

from jangar.api.orchestration import ORCHESTRATION, ORCHESTRATION_RUN
from jangar.api.phases import StepKind
from jangar.api.security import SECRET_BINDING
from jangar.controllers.admission.resolved_references import REFERENCED_KINDS, ResolvedReferences
from jangar.controllers.orchestrationrun.children import hash_of
from jangar.controllers.resources import ATTEMPT, RUN_UID, STEP, resource_of
from jangar.domain.orchestration.child_names import child_name
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from support.answering_transport import AnsweringTransport

UID = "run-uid"


def an_object(name, spec, **metadata):
    meta = {"name": name, "namespace": "team", "uid": name, "resourceVersion": "1", **metadata}
    return {"metadata": meta, "spec": spec}


def recorded(source=None, **child):
    reference = {"kind": "AgentRun", "name": PROVEN, "uid": PROVEN, "hash": HASH} | child
    step = {"name": "build", "kind": "AgentRun", "phase": "Pending", "attempt": 1, "resourceRef": reference}
    source = {"orchestration": {"name": "o", "uid": "o-uid"}} if source is None else source
    return {"snapshotRef": {"name": "s", "hash": "h", **source}, "stepStatuses": [step]}


def references(status=None, current="o-uid", **more):
    run_spec = {"orchestrationRef": {"name": "o"}} | more
    client = Client(AnsweringTransport(), manager="test")
    informers = {
        kind.name: Informer(client, resource_of(kind), namespaces=Namespaces.every())
        for kind in (*REFERENCED_KINDS, ORCHESTRATION_RUN, ORCHESTRATION)
    }
    runs, orchestrations = informers.pop(ORCHESTRATION_RUN.name), informers.pop(ORCHESTRATION.name)
    runs.cache.record_write(an_object("nightly", run_spec, uid=UID) | {"status": status or recorded()})
    if current is not None:
        orchestrations.cache.record_write(an_object("o", {}, uid=current))
    binding = {"subjects": [{"kind": "Orchestration", "name": "o"}], "allowedSecrets": ["token"]}
    informers[SECRET_BINDING.name].cache.record_write(an_object("b", binding))
    return ResolvedReferences(informers=informers, runs=runs, orchestrations=orchestrations)


def a_child(name, owner_uid=UID, step="build", attempt="1", **spec):
    owner = {
        "apiVersion": "x",
        "kind": "OrchestrationRun",
        "name": "nightly",
        "uid": owner_uid,
        "controller": True,
    }
    return Cached.of(
        an_object(
            name,
            {"agentRef": {"name": "coder"}, "runtime": {"type": "job"}} | spec,
            ownerReferences=[owner],
            labels={STEP: step, ATTEMPT: attempt, RUN_UID: UID},
        )
    )


PROVEN = child_name("nightly", UID, "build", 1)
HASH = hash_of(a_child(PROVEN).view, StepKind.AGENT_RUN)


@pytest.mark.parametrize(
    ("child", "bound"),
    [
        pytest.param(a_child(PROVEN), {"token"}, id="the-step's-own-name"),
        pytest.param(a_child("anything"), set(), id="any-other-name"),
        pytest.param(a_child(PROVEN, owner_uid="other"), set(), id="another-run-of-that-name"),
        pytest.param(a_child(PROVEN, step="test"), set(), id="another-step"),
        pytest.param(a_child(PROVEN, attempt="one"), set(), id="no-attempt"),
        pytest.param(a_child(PROVEN, secrets=["token"]), set(), id="another-spec-than-the-step's"),
    ],
)
def test_only_the_child_that_a_run_makes_has_the_bindings_of_its_orchestration(child, bound):
    """Any user can write an owner reference and labels; the name that follows from them must match, too."""
    assert references().request(child).bound_secrets == bound


@pytest.mark.parametrize(
    ("made", "bound"),
    [
        pytest.param(references(recorded(uid="another")), set(), id="another-uid-is-recorded"),
        pytest.param(references(recorded(name="another")), set(), id="another-child-is-recorded"),
        pytest.param(references(recorded() | {"stepStatuses": []}), set(), id="nothing-is-recorded"),
        pytest.param(references(recorded(source={})), {"token"}, id="begun-by-an-earlier-version"),
        pytest.param(
            references(recorded(source={}), retryOf={"name": "old"}), set(), id="an-earlier-version's-retry"
        ),
        pytest.param(
            references(recorded(source={"orchestration": {"name": "mine", "uid": "m"}})),
            set(),
            id="the-snapshot-of-another-orchestration",
        ),
        pytest.param(references(current="recreated"), set(), id="recreated-since"),
        pytest.param(references(current=None), {"token"}, id="deleted-since"),
    ],
)
def test_the_subject_of_a_binding_is_what_the_run_recorded(made, bound):
    """E1: the source of the snapshot, for the child that the run's status names; not what the run's spec says."""
    assert made.request(a_child(PROVEN)).bound_secrets == bound


def test_references_are_read_again_when_a_referenced_object_changed():
    """The version that answers are remembered by grows."""
    made = references()
    before = made.version
    made.informers[SECRET_BINDING.name].cache.record_write(an_object("c", {}))
    assert made.version == before + 1
