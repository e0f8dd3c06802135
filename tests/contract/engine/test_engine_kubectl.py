"""kubectl as users type it: waiting for a run, and the validation commands of the design documents."""

import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from contract.engine.engine_namespace import step
from e2e.kubectl_command import Kubectl, kubectl_binary


@pytest.fixture
def kubectl(namespace):
    binary = kubectl_binary()
    if binary is None:
        pytest.skip("no kubectl: run scripts/envtest/build kubectl, or set KUBEBUILDER_ASSETS")
    home = Path(tempfile.mkdtemp(prefix="jangar-kubectl-"))
    yield Kubectl(server=namespace.bed.server, binary=binary, home=home, namespace=namespace.api.namespace)
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.rule("ST-5")
def test_kubectl_waits_for_a_condition(namespace, kubectl):
    """`kubectl wait --for=condition=Succeeded` returns when the run succeeds."""
    run = namespace.run_of([step("one"), step("two")], name="nightly")
    kubectl(
        f"wait --for=condition=Succeeded orchestrationrun/nightly --timeout={namespace.bed.patience:.0f}s"
    )
    assert run.status["phase"] == "Succeeded"
    assert re.search(r"nightly\s+Succeeded\s+2/2", kubectl("get orchestrationrun nightly"))


@pytest.mark.rule("CAN-1", "CAN-5")
def test_the_cancel_of_the_design_document_works(namespace, kubectl):
    """Seed 000: patch `spec.cancel`, then read `Cancelled` and `phase` out of the YAML."""
    run = namespace.run_of([step("one", "forever")], name="nightly")
    run.works("one")
    kubectl("""patch orchestrationrun nightly --type=merge -p '{"spec":{"cancel":true}}'""")
    run.ends("Cancelled")
    reported = kubectl("get orchestrationrun nightly -o yaml").splitlines()
    shown = [line.strip() for line in reported if re.search(r"Cancelled|phase", line)]
    assert "phase: Cancelled" in shown
    assert "type: Cancelled" in shown


@pytest.mark.rule("DAG-5")
def test_the_graph_of_the_design_document_can_be_read(namespace, kubectl):
    """Seed 001: steps and dependsOn of a definition; phases, Skipped and DependencyFailed of a run."""
    namespace.orchestration("graph", [step("a", "bad", []), step("b", after=["a"])])
    namespace.run("graph").ends("Failed")
    definition = kubectl("get orchestration -o yaml")
    assert "steps:" in definition
    assert "dependsOn:" in definition
    reported = kubectl("get orchestrationrun -o yaml")
    for word in ("phase: Failed", "phase: Skipped", "reason: DependencyFailed"):
        assert word in reported


@pytest.mark.rule("ST-2", "ST-4")
@pytest.mark.parametrize("kind", ["orchestrationrun", "toolrun"])
def test_the_status_line_of_the_design_document_is_complete(namespace, kubectl, kind):
    """Seed 004: generation, observedGeneration, startedAt, finishedAt, updatedAt in one line, and in order."""
    run = namespace.run_of([step("one")], name="nightly")
    run.ends("Succeeded")
    name = "nightly" if kind == "orchestrationrun" else run.children()[0]["metadata"]["name"]
    fields = (
        "{.metadata.generation} {.status.observedGeneration} "
        "{.status.startedAt} {.status.finishedAt} {.status.updatedAt}"
    )
    generation, observed, started, finished, updated = kubectl(
        f"get {kind} {name} -o jsonpath='{fields}'"
    ).split()
    assert generation == observed
    assert started <= finished <= updated


@pytest.mark.rule("RUN-5")
def test_every_transition_of_a_run_has_an_event(namespace, kubectl):
    """Each transition of the run and its steps."""
    run = namespace.run_of([step("one", "bad", []), step("two", after=["one"])], name="nightly")
    run.ends("Failed")

    def reasons():
        events = json.loads(kubectl("get events -o json"))["items"]
        return {event["reason"] for event in events if event["involvedObject"]["kind"] == "OrchestrationRun"}

    wanted = {"StepFailed", "DependencyFailed"}
    namespace.await_(lambda: wanted <= reasons(), f"that the events {wanted} exist")
