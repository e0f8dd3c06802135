"""The one table of kinds."""

import pytest
from api_models import fields_of

from jangar.api.kind import VERSION
from jangar.api.kinds import KINDS, by_api_version_and_kind, by_name

PLURALS = {
    "Agent": "agents.agents.proompteng.ai",
    "AgentProvider": "agentproviders.agents.proompteng.ai",
    "AgentRun": "agentruns.agents.proompteng.ai",
    "ImplementationSpec": "implementationspecs.agents.proompteng.ai",
    "ImplementationSource": "implementationsources.agents.proompteng.ai",
    "Memory": "memories.agents.proompteng.ai",
    "VersionControlProvider": "versioncontrolproviders.agents.proompteng.ai",
    "Orchestration": "orchestrations.orchestration.proompteng.ai",
    "OrchestrationRun": "orchestrationruns.orchestration.proompteng.ai",
    "Tool": "tools.tools.proompteng.ai",
    "ToolRun": "toolruns.tools.proompteng.ai",
    "ApprovalPolicy": "approvalpolicies.approvals.proompteng.ai",
    "Budget": "budgets.budgets.proompteng.ai",
    "SecretBinding": "secretbindings.security.proompteng.ai",
    "Signal": "signals.signals.proompteng.ai",
    "SignalDelivery": "signaldeliveries.signals.proompteng.ai",
    "Schedule": "schedules.schedules.proompteng.ai",
    "Artifact": "artifacts.artifacts.proompteng.ai",
    "Workspace": "workspaces.workspaces.proompteng.ai",
    "Swarm": "swarms.swarm.proompteng.ai",
}


def test_groups_and_plurals_are_unchanged():
    """Group and plural make the URL, so they never change."""
    assert {kind.name: f"{kind.plural}.{kind.group}" for kind in KINDS} == PLURALS


def test_no_two_kinds_share_a_word():
    """Else `kubectl get WORD` would mean either."""
    words = [word for kind in KINDS for word in (kind.singular, kind.plural, *kind.short_names)]
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in KINDS])
def test_a_kind_is_found_by_every_word_for_it(kind):
    words = [kind.name, kind.singular, kind.plural, kind.name.upper(), f"{kind.plural}.{kind.group}"]
    assert {by_name(word) for word in [*words, *kind.short_names]} == {kind}
    assert by_api_version_and_kind(f"{kind.group}/{VERSION}", kind.name) is kind


def test_an_unknown_word_finds_nothing():
    assert by_name("pods") is None
    assert by_api_version_and_kind("agents.proompteng.ai/v1", "AgentRun") is None
    assert by_api_version_and_kind("tools.proompteng.ai/v1alpha1", "AgentRun") is None


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in KINDS])
def test_columns_show_fields_that_exist(kind):
    """A column with a misspelled path stays blank forever."""
    known = {path.removeprefix(kind.name) for path, _, _ in fields_of(kind)}
    shown = [column.path for column in kind.columns] + list(kind.selectable)
    bad = [path for path in shown if path.startswith((".spec", ".status")) and "[?" not in path]
    assert [path for path in bad if path not in known] == []
    assert len({column.name for column in kind.columns}) == len(kind.columns)


def test_spec_is_optional_where_legacy_versions_allow_it():
    """The other kinds have a required field inside the spec."""
    optional = {kind.name for kind in KINDS if not kind.spec_required}
    assert optional == {
        "Tool",
        "ApprovalPolicy",
        "Budget",
        "SecretBinding",
        "Signal",
        "Artifact",
        "Workspace",
    }
    for kind in KINDS:
        if not kind.spec_required:
            kind.spec.model_validate({})
