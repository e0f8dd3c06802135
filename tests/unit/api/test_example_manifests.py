"""The examples of the chart: each is known in full, and what they name exists among them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from api_models import unknown_keys

from jangar.api.kinds import KINDS, by_api_version_and_kind

EXAMPLES = Path(__file__).parents[3] / "charts" / "agents" / "examples"
FILES = sorted(EXAMPLES.glob("*.yaml"))
OBJECTS = [
    (file.name, manifest) for file in FILES for manifest in yaml.safe_load_all(file.read_text()) if manifest
]
REFERENCES = {
    "agentRef": "Agent",
    "providerRef": "AgentProvider",
    "implementationSpecRef": "ImplementationSpec",
    "memoryRef": "Memory",
    "vcsRef": "VersionControlProvider",
    "toolRef": "Tool",
    "orchestrationRef": "Orchestration",
    "signalRef": "Signal",
}


@pytest.mark.parametrize(("file", "manifest"), OBJECTS, ids=[file for file, _ in OBJECTS])
def test_an_example_is_read_without_loss(file, manifest):
    kind = by_api_version_and_kind(manifest["apiVersion"], manifest["kind"])
    assert kind is not None
    assert set(manifest) == {"apiVersion", "kind", "metadata", "spec"}
    assert unknown_keys(kind.spec, manifest["spec"]) == []
    kind.spec.model_validate(manifest["spec"])


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_an_example_says_what_it_shows(file):
    assert file.read_text().startswith("# ")


@pytest.mark.parametrize(("file", "manifest"), OBJECTS, ids=[file for file, _ in OBJECTS])
def test_an_example_goes_into_any_namespace(file, manifest):
    assert "namespace" not in manifest["metadata"]


def test_every_kind_has_an_example():
    shown = {manifest["kind"] for _, manifest in OBJECTS}
    assert {kind.name for kind in KINDS} - shown == set()


def test_what_an_example_names_is_among_the_examples():
    there = {(manifest["kind"], manifest["metadata"]["name"]) for _, manifest in OBJECTS}
    named = {(kind, name) for _, manifest in OBJECTS for kind, name in references(manifest["spec"])}
    assert named - there == set()


def references(value: Any):
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in REFERENCES:
            yield REFERENCES[key], item["name"]
        elif key == "targetRef":
            yield item["kind"], item["name"]
        elif key in {"policyRef", "approvalPolicyRef"}:
            yield "ApprovalPolicy", item
        elif key == "budgetRef":
            yield "Budget", item
        elif key == "claimName":
            yield "Workspace", item
        else:
            yield from references(item)


def test_no_two_examples_share_a_name():
    """Else applying the one would change the other."""
    names = [(manifest["kind"], manifest["metadata"]["name"]) for _, manifest in OBJECTS]
    assert sorted(names) == sorted(set(names))
