"""Hostile AgentRuns: their Jobs stay within the restrictions of every Job."""

from support.hostile_agents import OURS, attacked, attacks, secrets_of
from support.proving import FULL, prove

RESTRICTED_VOLUMES = {"configMap", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
TRIALS = 1000 if FULL else 200


def test_the_job_of_a_hostile_agent_stays_restricted(record_property):
    """Pod Security `restricted`, no token, a deadline, no retries, and our labels, whatever the run requests."""

    def holds(attack):
        result = attacked(attack)
        if result.job is None:
            return
        job = result.job
        assert job["spec"].keys() == {
            "backoffLimit",
            "podReplacementPolicy",
            "activeDeadlineSeconds",
            "template",
        }
        assert job["spec"]["backoffLimit"] == 0
        for labeled in (job, job["spec"]["template"], result.files):
            assert OURS.items() <= labeled["metadata"]["labels"].items()
        pod = job["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        # The operator's list admits runtime classes before any Job is created (test_pod_rules.py).
        assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC", "initContainers"}
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        for volume in pod["volumes"]:
            assert volume.keys() - {"name"} <= RESTRICTED_VOLUMES
            assert "projected" not in volume

    prove(record_property, "security: Jobs of attacker-made AgentRuns", TRIALS, attacks, holds)


def test_no_secret_is_mounted_without_admission(record_property):
    """So none is read without a SecretBinding: variables, files, prompts, sign-in, memory and images."""

    def holds(attack):
        result = attacked(attack)
        if result.job is not None:
            assert set(secrets_of(result.job)) <= {use.name for use in result.request.secrets}

    prove(record_property, "security: Secrets of attacker-made AgentRuns", TRIALS, attacks, holds)


def test_admission_checks_the_repository_image_and_account_that_are_used(record_property):
    """Under every name by which a run can specify them."""

    def holds(attack):
        result = attacked(attack)
        if result.job is None:
            return
        pod = result.job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        reported = {item["name"]: item.get("value") for item in container["env"]}
        if repository := reported.get("VCS_REPOSITORY"):
            assert repository.replace("$$", "$").lower() in {
                item.lower() for item in result.request.repositories
            }
        assert container["image"] == "jangar" or container["image"] in result.request.images
        assert pod.get("serviceAccountName", "") == result.request.service_account

    prove(record_property, "security: what attacker-made AgentRuns use is judged", TRIALS, attacks, holds)
