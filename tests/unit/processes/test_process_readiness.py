"""What /readyz returns for a process."""

from jangar.processes.laptop import STARTING
from kubekit.serving.readiness import readiness


def test_a_process_without_its_kinds_is_not_ready():
    """Until the kinds are installed, and every part runs."""
    status, text = readiness(STARTING, verbose=False)
    assert status == 503
    assert "[-]kinds failed: not installed yet" in text
    assert "[+]api ok" in text
    assert text.endswith("readyz check failed\n")


def test_a_ready_process_says_ok_and_more_on_request():
    parts = {"api": (), "controllers": []}
    assert readiness(parts, verbose=False) == (200, "ok")
    assert readiness(parts, verbose=True) == (200, "[+]api ok\n[+]controllers ok\nreadyz check passed\n")


def test_a_refused_write_is_the_reason():
    """A full disk is named."""
    status, text = readiness({"storage": ["/d/objects.db: no space left on device"]}, verbose=False)
    assert status == 503
    assert "no space left on device" in text
