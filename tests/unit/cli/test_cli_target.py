"""Which API is meant, whether one may be started, and what further commands need to find the same."""

from pathlib import Path

import pytest

from jangar.cli.target import Target, may_auto_start, options_of


@pytest.mark.parametrize(
    ("target", "environment", "expected"),
    [
        pytest.param(Target(), {}, True, id="nothing"),
        pytest.param(Target(context="staging"), {}, False, id="context"),
        pytest.param(Target(kubeconfig=Path("k")), {}, False, id="kubeconfig"),
        pytest.param(Target(), {"KUBECONFIG": "k"}, False, id="environment"),
        pytest.param(Target(), {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, False, id="pod"),
        pytest.param(Target(data_dir=Path("d")), {"KUBECONFIG": "k"}, True, id="data-dir"),
    ],
)
def test_an_api_is_started_only_where_none_is_named(target, environment, expected, tmp_path):
    """A run that was meant for a cluster does not end up on this machine."""
    assert may_auto_start(target, {"HOME": str(tmp_path)} | environment) is expected


def test_a_kubeconfig_of_the_user_names_an_api(tmp_path):
    """Also if its server does not answer."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("")
    assert not may_auto_start(Target(), {"HOME": str(tmp_path)})


def test_further_commands_are_reported_with_the_same_target():
    """Nothing for the default."""
    assert options_of(Target()) == ""
    assert options_of(Target(data_dir=Path("d"), namespace="n")) == " --data-dir d -n n"
    assert options_of(Target(context="c"), "other") == " --context c -n other"
