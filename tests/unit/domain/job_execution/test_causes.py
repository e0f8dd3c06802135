"""Why work does not start and how it ended, with the node's own message (AGENT-3)."""

from datetime import timedelta

import pytest

from jangar.api.reasons import Reason
from jangar.domain.job_execution.facts import ContainerFacts, PodFacts, TemplateNames, Terminated
from jangar.domain.job_execution.outcome import (
    MAX_MESSAGE,
    Cause,
    end_cause,
    ignored_term,
    lasting_cause,
    waiting_cause,
)
from support.builders import NOON, at

TEMPLATE = TemplateNames(containers=("main",), init_containers=("fetch",))
NOT_FOUND = 'rpc error: code = NotFound desc = failed to pull image "x": not found'
BACK_OFF = 'Back-off pulling image "x"'


def a_pod(reason="", message="", **more):
    main = ContainerFacts(name="main", waiting_reason=reason, waiting_message=message)
    return PodFacts(name="p", uid="u", containers=(main,), **more)


@pytest.mark.parametrize(
    ("pod", "create_error", "expected"),
    [
        pytest.param(None, None, None, id="nothing-known"),
        pytest.param(None, "", None, id="no-event"),
        pytest.param(a_pod("ContainerCreating"), None, None, id="about-to-start"),
        pytest.param(a_pod("PodInitializing"), None, None, id="initializing"),
        pytest.param(
            None,
            'Error creating: pods "j-x7k2p" is forbidden: error looking up service account default/ci: '
            'serviceaccount "ci" not found',
            (
                "FailedCreate",
                (
                    "the Job controller cannot create the pod: the pod is forbidden: error looking up service account "
                    'default/ci: serviceaccount "ci" not found'
                ),
            ),
            id="no-service-account",
        ),
        pytest.param(
            a_pod(unschedulable="0/3 nodes are available: 3 Insufficient cpu."),
            None,
            ("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu."),
            id="unschedulable",
        ),
        pytest.param(
            a_pod("ErrImagePull", NOT_FOUND),
            None,
            ("ImagePullBackOff", f"container main: {NOT_FOUND}"),
            id="image-pull",
        ),
        pytest.param(
            a_pod("InvalidImageName", "couldn't parse image"),
            None,
            ("ImagePullBackOff", "container main: InvalidImageName: couldn't parse image"),
            id="image-name",
        ),
        pytest.param(
            a_pod("CreateContainerConfigError", 'secret "token" not found'),
            None,
            ("CreateContainerConfigError", 'container main: secret "token" not found'),
            id="no-secret",
        ),
        pytest.param(
            a_pod("RunContainerError", "no\nmounts"),
            None,
            ("CreateContainerConfigError", "container main: RunContainerError: no mounts"),
            id="another-word-of-the-kubelet",
        ),
    ],
)
@pytest.mark.rule("AGENT-3")
def test_what_keeps_a_container_from_starting_is_reported(pod, create_error, expected):
    """E12: image, Secret, ServiceAccount, no node: each with the message of its source."""
    found = waiting_cause(TEMPLATE, pod, create_error=create_error)
    assert found == (expected and Cause(reason=Reason(expected[0]), message=expected[1]))


@pytest.mark.rule("AGENT-3")
def test_injected_containers_are_not_looked_at_and_messages_are_bounded():
    """A sidecar that another tool added waits for itself; a registry may answer with an HTML page."""
    proxy = ContainerFacts(name="proxy", waiting_reason="ErrImagePull", waiting_message="x")
    assert (
        waiting_cause(TEMPLATE, PodFacts(name="p", uid="u", containers=(proxy,)), create_error=None) is None
    )
    long = waiting_cause(TEMPLATE, a_pod("ErrImagePull", "x" * 100_000), create_error=None)
    assert long is not None
    assert len(long.message) == MAX_MESSAGE


def lasting(found, recorded, seconds):
    return lasting_cause(
        Cause(reason=Reason.IMAGE_PULL_BACK_OFF, message=found),
        reason="ImagePullBackOff",
        message=recorded,
        recorded_at=NOON,
        now=at(seconds),
    ).message


def test_alternating_texts_of_one_cause_are_recorded_once():
    """E12: a kubelet alternates between the registry's answer and the back-off; the answer is recorded, and stays."""
    answer, bare = f"container main: {NOT_FOUND}", f"container main: {BACK_OFF}"
    assert lasting(answer, bare, 1) == answer
    assert lasting(bare, answer, 1000) == answer
    assert lasting(f"{bare}: ErrImagePull: {NOT_FOUND}", bare, 1) == f"{bare}: ErrImagePull: {NOT_FOUND}"
    assert lasting("another answer", answer, 29) == answer
    assert lasting("another answer", answer, 30) == "another answer"


@pytest.mark.parametrize(
    ("end", "reason", "message"),
    [
        pytest.param(
            Terminated(
                exit_code=128, reason="StartError", message='exec: "gone": executable file not found in $PATH'
            ),
            "StartError",
            'container main could not start: exec: "gone": executable file not found in $PATH',
            id="no-such-program",
        ),
        pytest.param(
            Terminated(exit_code=127, reason="ContainerCannotRun"),
            "StartError",
            "container main could not start: exit code 127",
            id="another-runtime",
        ),
        pytest.param(
            Terminated(exit_code=127, reason="Error", message="of the program"),
            "NonZeroExit",
            "container main ended with exit code 127 (command not found)",
            id="not-found-by-a-shell",
        ),
        pytest.param(
            Terminated(exit_code=139),
            "NonZeroExit",
            "container main ended with exit code 139 (SIGSEGV)",
            id="a-signal",
        ),
        pytest.param(
            Terminated(exit_code=1), "NonZeroExit", "container main ended with exit code 1", id="exit-code"
        ),
        pytest.param(
            Terminated(exit_code=137, reason="OOMKilled"),
            "OOMKilled",
            "container main ran out of memory (exit code 137)",
            id="memory",
        ),
        pytest.param(
            Terminated(exit_code=137, reason="SupervisorLost", message="the supervisor died"),
            "SupervisorLost",
            "container main: the supervisor died (exit code 137)",
            id="supervisor",
        ),
        pytest.param(
            Terminated(exit_code=137, reason="ContainerStatusUnknown", message="The node was lost"),
            "NonZeroExit",
            "container main ended with exit code 137 (ContainerStatusUnknown: The node was lost)",
            id="another-word-of-the-node",
        ),
    ],
)
@pytest.mark.rule("AGENT-3")
def test_the_end_of_a_container_is_reported_with_the_most_specific_fact(end, reason, message):
    """B5, E12: what the node knows, not only an exit code; never the text that the program itself wrote."""
    assert end_cause("main", end) == Cause(reason=Reason(reason), message=message)


@pytest.mark.parametrize(
    ("code", "reason", "seconds", "grace", "expected"),
    [
        pytest.param(137, "Error", 30, 30, True, id="killed-at-the-end-of-its-grace-period"),
        pytest.param(137, "Error", 5, 30, False, id="killed-by-itself"),
        pytest.param(143, "Error", 30, 30, False, id="heard-it-late"),
        pytest.param(137, "OOMKilled", 30, 30, False, id="memory"),
        pytest.param(137, "Error", 30, 0, False, id="no-grace-period"),
    ],
)
def test_a_container_that_ignored_sigterm_is_reported(code, reason, seconds, grace, expected):
    """B16: the stop took the whole grace period and ended by SIGKILL."""
    end = Terminated(exit_code=code, reason=reason, finished_at=at(seconds))
    pod = a_pod(grace=timedelta(seconds=grace))
    sentence = "container main ignored SIGTERM and was killed after 30 s"
    assert ignored_term(pod, [("main", end)], NOON) == (sentence if expected else "")
