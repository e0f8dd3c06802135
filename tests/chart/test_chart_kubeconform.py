"""kubeconform with the schemas of a real API server, of our CRDs and of Argo Rollouts."""

import importlib.util
import json
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from chart_argo import TOOL, where
from chart_render import ROOT, Objects, rendered

DIGEST = {"image.digest": "sha256:" + "0" * 64}
PRESETS = ["values.yaml", "values-dev.yaml", "values-kind.yaml", "values-prod.yaml"]
WORLDS = {
    "as it stands": {},
    "all of it": {
        "crds.upgrade.enabled": True,
        "progressiveDelivery": {"enabled": True, "analysis": {"enabled": True}, "migration": "sideBySide"},
        "autoscaling.enabled": True,
        "versionControlProvider.enabled": True,
        "resourceQuota": {"enabled": True, "hard": {"pods": "10"}},
    },
}


@pytest.fixture(scope="module")
def kubeconform() -> Path:
    reported = subprocess.run(
        [TOOL, "--where", "kubeconform"], check=True, capture_output=True, text=True, timeout=30
    )
    binary = Path(reported.stdout.strip()) / "bin" / "kubeconform"
    if not binary.exists():
        pytest.skip("no kubeconform: scripts/envtest/tool kubeconform builds it")
    return binary


@pytest.fixture(scope="module")
def own_check() -> ModuleType:
    """scripts/agents/manifest-check, which has the schemas."""
    loader = SourceFileLoader("manifest_check", str(ROOT / "scripts/agents/manifest-check"))
    spec = importlib.util.spec_from_loader("manifest_check", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def published(own_check: ModuleType) -> dict[tuple[str, str], Any]:
    """The schemas of Argo Rollouts' own CRDs if it was built: stricter than ours."""
    manifests = where() / "install.yaml"
    if not manifests.exists():
        return {}
    documents = yaml.load_all(manifests.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    specs = [item["spec"] for item in documents if item and item["kind"] == "CustomResourceDefinition"]
    return {
        ("argoproj.io/v1alpha1", spec["names"]["kind"]): own_check.of_definition(spec, "v1alpha1")
        for spec in specs
    }


def checked(kubeconform: Path, own_check: ModuleType, objects: Objects, schemas: Path) -> Any:
    foreign = published(own_check)
    for version, kind in {(item["apiVersion"], item["kind"]) for item in objects.all}:
        schema = foreign.get((version, kind)) or own_check.schema(version, kind)
        assert schema is not None, f"no schema of {kind}"
        group, number = version.split("/")[0], version.split("/")[-1]  # kubeconform calls both v1
        (schemas / f"{group}_{number}_{kind.lower()}.json").write_text(json.dumps(schema), "utf-8")
    location = f"{schemas}/{{{{.Group}}}}_{{{{.ResourceAPIVersion}}}}_{{{{.ResourceKind}}}}.json"
    words = [kubeconform, "-strict", "-output", "json", "-summary", "-schema-location", location]
    ran = subprocess.run(words, input=objects.text, check=False, capture_output=True, text=True, timeout=120)
    return json.loads(ran.stdout)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("world", WORLDS)
def test_kubeconform_finds_nothing(kubeconform, own_check, tmp_path, preset, world):
    """Strict, on every preset, as it is and with every option enabled; nothing is skipped."""
    objects = rendered(DIGEST | WORLDS[world], files=(preset,))
    reported = checked(kubeconform, own_check, objects, tmp_path)
    assert reported["resources"] == []
    assert reported["summary"] == {"valid": len(objects.all), "invalid": 0, "errors": 0, "skipped": 0}


def test_kubeconform_reports_an_unknown_field(kubeconform, own_check, tmp_path):
    """In a Kubernetes object and in a Rollout."""
    objects = rendered({"progressiveDelivery.enabled": True})
    spoilt = Objects(objects.all, objects.text.replace("progressDeadlineSeconds:", "progressDeadlineSecond:"))
    reported = checked(kubeconform, own_check, spoilt, tmp_path)
    assert sorted(resource["kind"] for resource in reported["resources"]) == ["Deployment", "Rollout"]
