"""What is not built is refused everywhere, from one table (GATE-1)."""

import pytest
import yaml
from lint_cases import linted

from jangar.api.kinds import KINDS
from jangar.api.not_built import KINDS_NOT_BUILT, NOT_BUILT, STEP_FIELDS_NOT_BUILT, STEP_KINDS_NOT_BUILT
from jangar.api.reasons import Reason
from jangar.controllers.definition.checks import OrchestrationCheck, check_provider, check_version_control
from jangar.controllers.informers import AGENT_DEFINITIONS
from jangar.controllers.toolrun.job_request import ToolRunRequests
from jangar.crdgen.crd import crd_of
from jangar.crdgen.reference import not_built_page
from jangar.domain.job_execution.observation import WorkRejected
from jangar.kinds.registry import STEP_KINDS, creates_child
from jangar.lint.conditions import compile_when
from kubekit.cache.object_cache import Cache, Cached

BUILT = {"AgentRun", "Orchestration", "OrchestrationRun", "Tool", "ToolRun", "SecretBinding"} | {
    *AGENT_DEFINITIONS
}
SEEN = Cached.of({"metadata": {"name": "a", "namespace": "ci", "uid": "u", "resourceVersion": "1"}})


def an_object(kind, spec):
    api_version = next(item.api_version for item in KINDS if item.name == kind)
    meta = {"name": "a", "namespace": "ci"}
    return yaml.safe_dump({"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec})


def _raise(error):
    raise error


def reasons(report):
    return [(str(finding.reason), finding.field, str(finding.severity)) for finding in report.findings]


@pytest.mark.rule("GATE-1")
def test_every_kind_and_step_kind_is_built_or_in_the_table():
    """B1: the table lists exactly the kinds that no controller reads."""
    assert {kind.name for kind in KINDS} == BUILT | set(KINDS_NOT_BUILT)
    assert not BUILT & set(KINDS_NOT_BUILT)
    assert set(STEP_KINDS_NOT_BUILT) == {kind for kind in STEP_KINDS if not creates_child(kind)}


@pytest.mark.rule("GATE-1")
@pytest.mark.parametrize("kind", KINDS_NOT_BUILT)
def test_lint_refuses_a_kind_that_is_not_built_by_name(kind):
    """B1: an error, whatever the object says."""
    report = linted(an_object(kind, {}))
    assert ("NotBuilt", "kind", "error") in reasons(report)
    (found,) = (finding for finding in report.findings if finding.reason is Reason.NOT_BUILT)
    assert found.message == f"{kind} is not built yet: nothing acts on it"
    assert found.fix


@pytest.mark.rule("GATE-1")
@pytest.mark.parametrize("kind", STEP_KINDS_NOT_BUILT)
def test_steps_of_a_kind_that_is_not_built_are_refused(kind):
    """B1: by lint and by the controller, before anything runs."""
    step = {"name": "a", "kind": kind, "policyRef": "p", "signalRef": {"name": "s"}}
    report = linted(an_object("Orchestration", {"steps": [step]}))
    assert ("UnsupportedStep", "spec.steps[0].kind", "error") in reasons(report)
    check = OrchestrationCheck(orchestrations=Cache(report=_raise), compile_condition=compile_when)
    (problem,) = check(SEEN, {"steps": [step]}).problems
    assert (problem.reason, problem.message) == ("UnsupportedStep", f"kind: {kind} is not built yet")


@pytest.mark.rule("GATE-1")
@pytest.mark.parametrize("field", STEP_FIELDS_NOT_BUILT)
def test_steps_with_a_field_that_is_not_built_are_refused(field):
    """By lint and by the controller, before anything runs."""
    step = {"name": "a", "kind": "ToolRun", "toolRef": {"name": "t"}, field: {"any": "thing"}}
    report = linted(an_object("Orchestration", {"steps": [step]}))
    assert ("NotBuilt", f"spec.steps[0].{field}", "error") in reasons(report)
    check = OrchestrationCheck(orchestrations=Cache(report=_raise), compile_condition=compile_when)
    (problem,) = check(SEEN, {"steps": [step]}).problems
    assert problem.reason is Reason.NOT_BUILT


@pytest.mark.rule("GATE-1")
def test_a_tool_run_with_a_field_that_is_not_built_is_refused():
    """By lint and by the controller, which starts nothing."""
    spec = {"toolRef": {"name": "t"}, "runtime": {"type": "job"}}
    assert ("NotBuilt", "spec.runtime", "error") in reasons(linted(an_object("ToolRun", spec)))
    tool_run = Cached.of(SEEN.view | {"spec": spec})
    work = ToolRunRequests(tools=Cache(report=_raise))(tool_run).work
    assert isinstance(work, WorkRejected)
    assert (work.reason, "spec.runtime" in work.message) == (Reason.NOT_BUILT, True)


@pytest.mark.rule("GATE-1")
@pytest.mark.parametrize(
    ("kind", "check", "spec", "field"),
    [
        pytest.param(
            "AgentProvider",
            check_provider,
            {"binary": "codex", "adapter": {"type": "codex-app-server"}},
            "spec.adapter.type",
            id="a-value",
        ),
        pytest.param(
            "AgentProvider",
            check_provider,
            {"binary": "codex", "health": {"capacityFailurePolicy": "block"}},
            "spec.health",
            id="a-field",
        ),
        pytest.param(
            "VersionControlProvider",
            check_version_control,
            {"provider": "github", "auth": {"app": {"tokenTtlSeconds": 60}}},
            "spec.auth.app.tokenTtlSeconds",
            id="a-deep-field",
        ),
    ],
)
def test_fields_and_values_that_are_not_built_are_refused(kind, check, spec, field):
    """B1: lint and the controller say the same."""
    assert ("NotBuilt", field, "error") in reasons(linted(an_object(kind, spec)))
    assert [problem.reason for problem in check(SEEN, spec).problems] == ["NotBuilt"]
    assert check(SEEN, {"binary": "codex", "adapter": {"type": "exec"}}).problems == []


@pytest.mark.rule("GATE-1")
def test_descriptions_and_the_page_say_what_is_not_built():
    """B1: `kubectl explain` and the docs read the same table."""
    for kind in KINDS:
        schema = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        marked = schema["description"].startswith("Not built yet: refused.")
        assert marked == (kind.name in KINDS_NOT_BUILT)
    text = str([crd_of(kind) for kind in KINDS])
    for kind in STEP_KINDS_NOT_BUILT:
        assert f"{kind}" in text.partition("Not built yet, refused: ")[2].partition(".")[0]
    assert text.count("codex-app-server is not built yet: refused.") == 1
    page = not_built_page()
    assert all(row.instead in page for row in NOT_BUILT)
