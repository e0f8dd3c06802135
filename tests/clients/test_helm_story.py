"""Our own chart with Helm 3 on the embedded API: install, test, upgrade, rollback, uninstall."""

import json

import pytest

from chart.chart_render import CHART, run_helm

pytestmark = pytest.mark.rule("RUN-2")

RELEASE = ("agents", "-n", "agents")
SECONDS = 240


@pytest.fixture(scope="module")
def helm(laptop):
    """The output of a successful Helm command on `jangar up`."""
    environment = {"KUBECONFIG": str(laptop.data / "kubeconfig")}

    def run(*words):
        ran = run_helm(*words, environment=environment, seconds=SECONDS)
        assert ran.code == 0, f"helm {' '.join(map(str, words))}: {ran.out}{ran.err}"
        return ran.out

    return run


def _objects(laptop, *words):
    return json.loads(laptop.done("get", *words, "-n", "agents", "-o", "json"))["items"]


def _revisions(helm):
    return [row["status"] for row in json.loads(helm("history", *RELEASE, "-o", "json"))]


def test_the_chart_goes_through_its_whole_lifecycle(helm, laptop):
    """D3: its hooks mount an emptyDir at /tmp while the data directory is below /tmp, and reach the API."""
    helm("install", *RELEASE[:1], CHART, *RELEASE[1:], "--create-namespace", "--timeout", "120s")
    assert _revisions(helm) == ["deployed"]
    reported = helm("test", *RELEASE, "--timeout", "180s")
    assert "Phase:          Succeeded" in reported
    assert "Failed" not in reported
    helm("upgrade", *RELEASE[:1], CHART, *RELEASE[1:], "--set", "logging.level=debug", "--timeout", "120s")
    helm("rollback", RELEASE[0], "1", *RELEASE[1:], "--timeout", "120s")
    assert _revisions(helm) == ["superseded", "superseded", "deployed"]
    helm("uninstall", *RELEASE, "--timeout", "180s")
    assert json.loads(helm("list", "-A", "-o", "json")) == []


def test_an_uninstalled_release_leaves_nothing(helm, laptop):
    """The hook that waits for runs has ended, and the workloads are deleted."""
    for kind in ("deployments", "services", "serviceaccounts"):
        left = [item["metadata"]["name"] for item in _objects(laptop, kind)]
        assert [name for name in left if name.startswith("agents")] == []
