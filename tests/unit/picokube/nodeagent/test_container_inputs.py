"""What a container gets: variables, expanded commands, mapped paths, volumes; and what is refused."""

import base64
import os
import time
from pathlib import Path

import pytest

from picokube.nodeagent.data_directory import AgentPaths, remove_shared_scratch, shared_scratch
from picokube.nodeagent.pods.container_request import (
    ContainerContext,
    PathMapping,
    container_start_request,
    references,
)
from picokube.nodeagent.pods.environment import (
    ConfigProblem,
    ExpansionTooLarge,
    environment,
    expand_variables,
    inherited_environment,
)
from picokube.nodeagent.pods.process_mode import TOKEN_PATH, Host, unsupported_fields
from picokube.nodeagent.pods.volume_files import make_volumes, mounts_of
from picokube.nodeagent.supervisor.protocol import RunKey

OWN = Host(user=1000, group=1000)
ROOT = Host(user=0, group=0)
CONFIG = {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}, "data": {"a": "A", "b": "B"}}
SECRET = {
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "d"},
    "data": {"pw": base64.b64encode(b"hunter2").decode()},
}
CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": "p", "uid": "claim-uid"}}


def find(kind, name):
    known = {("ConfigMap", "c"): CONFIG, ("Secret", "s"): SECRET, ("PersistentVolumeClaim", "p"): CLAIM}
    return known.get((kind, name))


def a_pod(*, volumes=(), security=None, **container):
    container = {"name": "main", "image": "i", "command": ["run"], **container}
    spec = {"containers": [container], "volumes": list(volumes), "securityContext": security or {}}
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u", "labels": {"l": 'x"y'}},
        "spec": {**spec, "nodeName": "laptop"},
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$$(A)", "$(A)"),
        ("$(NOPE)", "$(NOPE)"),
        ("$A", "$A"),
        ("$$", "$"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text, expected):
    assert expand_variables(text, {"A": "1", "B": "2"}) == expected


@pytest.mark.parametrize("piece", ["$$", "$(", "$(A)", "$", "$(A", "$)", "a"])
def test_expansion_takes_time_that_grows_with_the_text(piece):
    """E2: a megabyte of any of them, in a fraction of a second."""
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    expand_variables(text, {"A": "1"})
    assert time.process_time() - began < 1


def test_variables_that_double_each_other_are_refused():
    """E2: thirty variables of ten characters would need a gigabyte."""
    env = [{"name": "V0", "value": "0123456789"}]
    env += [{"name": f"V{n}", "value": f"$(V{n - 1})$(V{n - 1})"} for n in range(1, 31)]
    pod = a_pod(env=env)
    with pytest.raises(ExpansionTooLarge, match=r"\$\(V16\) exceeds 1048576 characters"):
        environment(pod, pod["spec"]["containers"][0], {}, find)


def test_variables_come_from_all_their_sources():
    """Own variables win over those of whole objects, and see what stands before them."""
    env = [
        {"name": "b", "value": "own"},
        {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "s", "key": "pw"}}},
        {"name": "BOTH", "value": "$(a)-$(PW)-$(LATER)"},
        {"name": "LATER", "value": "x"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['l']"}}},
        {"name": "MEM", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
        {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "no", "optional": True}}},
    ]
    limits = {"limits": {"memory": "64Mi"}}
    pod = a_pod(env=env, envFrom=[{"configMapRef": {"name": "c"}}], resources=limits)
    found = environment(pod, pod["spec"]["containers"][0], {"PATH": "/bin"}, find)
    assert found == {
        "PATH": "/bin", "HOSTNAME": "p", "a": "A", "b": "own", "PW": "hunter2", "BOTH": "A-hunter2-$(LATER)",
        "LATER": "x", "NODE": "laptop", "LABEL": 'x"y', "MEM": "64",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "no", "key": "k"}}, 'configmap "no" not found'),
        ({"secretKeyRef": {"name": "s", "key": "k"}}, "couldn't find key k in Secret d/s"),
    ],
)
def test_what_is_missing_is_named(source, message):
    pod = a_pod(env=[{"name": "X", "valueFrom": source}])
    with pytest.raises(ConfigProblem, match=message):
        environment(pod, pod["spec"]["containers"][0], {}, find)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/real"),
        ("/data/x", "/real/x"),
        ("--out=/data/x:/data", "--out=/real/x:/real"),
        ("cat /data/in/y > '/data'", "cat /inner/y > '/real'"),
        ("/database", "/database"),
        ("/my/data", "/my/data"),
        ("/data.txt", "/data.txt"),
        ("x/data", "x/data"),
    ],
)
def test_mount_paths_are_mapped_as_whole_parts_of_paths(text, expected):
    assert PathMapping({"/data/": "/real", "/data/in": "/inner"}).text(text) == expected


def volumes():
    return [
        {"name": "c", "configMap": {"name": "c", "items": [{"key": "a", "path": "deep/a", "mode": 0o400}]}},
        {"name": "s", "secret": {"secretName": "s", "defaultMode": 0o400}},
        {"name": "e", "emptyDir": {}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "p"}},
        {
            "name": "d",
            "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]},
        },
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}},
    ]


def test_volumes_are_directories_with_what_they_promise(tmp_path):
    pod = a_pod(volumes=volumes())
    found = make_volumes(pod, AgentPaths(data=tmp_path), find)
    assert (found["c"] / "deep/a").read_text() == "A"
    assert (found["c"] / "deep/a").stat().st_mode & 0o777 == 0o400
    assert (found["s"] / "pw").read_text() == "hunter2"
    assert (found["d"] / "l").read_text() == 'l="x\\"y"'
    assert sorted(path.name for path in found["all"].iterdir()) == ["a", "b", "pw"]
    assert found["p"] == tmp_path / "claims" / "d" / "p-claim-uid"
    (found["e"] / "kept").touch()
    assert (make_volumes(pod, AgentPaths(data=tmp_path), find)["e"] / "kept").exists()


def test_what_a_pod_speaks_of_is_known_before_it_starts():
    pod = a_pod(
        volumes=volumes(), env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "t", "key": "k"}}}]
    )
    assert references(pod) == {
        ("ConfigMap", "c"),
        ("Secret", "s"),
        ("Secret", "t"),
        ("PersistentVolumeClaim", "p"),
    }


def test_a_sub_path_stays_within_its_volume(tmp_path):
    (tmp_path / "link").symlink_to("/")
    container = {"volumeMounts": [{"name": "e", "mountPath": "/m", "subPathExpr": "$(POD)/x"}]}
    mount = mounts_of(container, {"e": tmp_path}, {"POD": "p"})[0]
    assert (mount.source, mount.target) == (str(tmp_path / "p/x"), "/m")
    assert Path(mount.source).is_dir()
    container["volumeMounts"][0] = {"name": "e", "mountPath": "/m", "subPath": "link/etc"}
    with pytest.raises(ConfigProblem, match="must not point outside the volume"):
        mounts_of(container, {"e": tmp_path}, {})


@pytest.mark.parametrize("namespaces", [True, False], ids=["mounted", "mapped"])
def test_an_order_mounts_volumes_or_maps_their_paths(tmp_path, namespaces):
    """The termination message path is mapped where nothing stands there."""
    pod = a_pod(
        volumes=[{"name": "e", "emptyDir": {}}],
        args=["--in=/data/x", "$(WHO)", "/dev/termination-log"],
        env=[{"name": "WHO", "value": "/data"}],
        workingDir="/data",
        volumeMounts=[{"name": "e", "mountPath": "/data", "readOnly": True}],
    )
    context = ContainerContext(paths=AgentPaths(data=tmp_path), host=OWN, namespaces=namespaces, inherited={})
    order = container_start_request(pod, RunKey("u", "main", 0), context, find)
    real = str(tmp_path / "pods/u/volumes/e")
    termination_log = str(tmp_path / "scratch/u.main.0")
    if namespaces:
        assert order.argv == ("run", "--in=/data/x", "/data", "/dev/termination-log")
        assert order.cwd == "/data"
        mounts = {mount.target: (mount.source, mount.read_only) for mount in order.mounts}
        assert mounts["/data"] == (real, True)
        assert mounts["/dev/termination-log"] == (termination_log, False)
        assert mounts["/tmp"] == (str(tmp_path / "scratch/u.+tmp"), False)  # noqa: S108 - the pod's own
        assert order.hidden == (str(tmp_path),)
        assert order.env["HOME"] == "/tmp"  # noqa: S108
    else:
        assert order.argv == ("run", f"--in={real}/x", real, termination_log)
        assert (order.cwd, order.env["WHO"], order.mounts) == (real, real, ())
        assert order.env["HOME"] == order.env["TMPDIR"] == str(tmp_path / "scratch/u.+tmp")


def test_private_directories_are_the_pods_own(tmp_path):
    """A12, E13: HOME, /tmp and the working directory lie below the data directory, and only their user enters them."""
    context = ContainerContext(
        paths=AgentPaths(data=tmp_path), host=OWN, namespaces=True, inherited={"HOME": "/home/me"}
    )
    orders = [
        container_start_request(a_pod(), RunKey(uid, "main", 0), context, find) for uid in ("one", "two")
    ]
    assert orders[0].env["HOME"] == "/tmp"  # noqa: S108
    sources = [{mount.target: mount.source for mount in order.mounts}["/tmp"] for order in orders]  # noqa: S108
    assert sources[0] != sources[1]
    for directory in (*sources, orders[0].cwd):
        assert Path(directory).is_relative_to(tmp_path)
        assert Path(directory).stat().st_mode & 0o777 == 0o700


def test_a_pod_with_a_token_works_for_its_user(tmp_path):
    """It talks to the API with the user's kubeconfig: it keeps HOME and sees the data directory."""
    token = {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {}}]}}
    context = ContainerContext(
        paths=AgentPaths(data=tmp_path), host=OWN, namespaces=True, inherited={"HOME": "/home/me"}
    )
    order = container_start_request(a_pod(volumes=[token]), RunKey("u", "main", 0), context, find)
    assert (order.env["HOME"], order.hidden) == ("/home/me", ())


def test_a_volume_over_the_data_directory_leaves_a_place_to_work(tmp_path):
    """D3: the chart's hooks mount an emptyDir at /tmp, and the data directory may lie below it."""
    data = tmp_path / "data"
    pod = a_pod(
        volumes=[{"name": "e", "emptyDir": {}}],
        volumeMounts=[{"name": "e", "mountPath": str(tmp_path)}],
    )
    context = ContainerContext(paths=AgentPaths(data=data), host=OWN, namespaces=True, inherited={})
    order = container_start_request(pod, RunKey("u", "main", 0), context, find)
    assert order.cwd == "/jangar/work"
    assert str(data / "scratch/u.main") in {
        mount.source for mount in order.mounts if mount.target == "/jangar/work"
    }


def test_proxies_and_certificates_of_the_agent_reach_containers(tmp_path):
    """A12: a certificate below a directory that is hidden is mounted at its path. TMPDIR is the pod's own."""
    bundle = tmp_path / "closed" / "ca.pem"
    bundle.parent.mkdir()
    bundle.write_text("certificates")
    environ = {
        "PATH": "/bin",
        "TMPDIR": "/elsewhere",
        "https_proxy": "http://user:pass@proxy:3128",
        "NO_PROXY": "localhost",
        "SSL_CERT_FILE": str(bundle),
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    kept = inherited_environment(environ)
    assert set(kept) == {"PATH", "https_proxy", "NO_PROXY", "SSL_CERT_FILE"}
    pod = a_pod(
        volumes=[{"name": "e", "emptyDir": {}}],
        volumeMounts=[{"name": "e", "mountPath": str(bundle.parent)}],
    )
    context = ContainerContext(
        paths=AgentPaths(data=tmp_path / "data"), host=OWN, namespaces=True, inherited=kept
    )
    order = container_start_request(pod, RunKey("u", "main", 0), context, find)
    assert order.env["https_proxy"] == "http://user:pass@proxy:3128"
    assert (str(bundle), True) in {(mount.target, mount.read_only) for mount in order.mounts}
    assert "pass" not in str(pod)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_files_of_another_user_are_its_own(tmp_path):
    """A13, E13: its directories and its termination message; a claim can be written by it and by its group."""
    context = ContainerContext(
        paths=AgentPaths(data=tmp_path / "data"), host=ROOT, namespaces=True, inherited={}
    )
    claim = {"name": "c", "persistentVolumeClaim": {"claimName": "p"}}
    pod = a_pod(
        volumes=[claim, {"name": "e", "emptyDir": {}}],
        volumeMounts=[{"name": "c", "mountPath": "/jangar-claim"}],
        security={"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65531},
    )

    def find_claim(kind, name):
        return {"metadata": {"uid": "v"}} if kind == "PersistentVolumeClaim" else find(kind, name)

    order = container_start_request(pod, RunKey("u", "main", 0), context, find_claim)
    assert (order.user, order.groups) == (65532, (65531,))
    for path in (order.cwd, *(mount.source for mount in order.mounts if mount.target == "/tmp")):  # noqa: S108
        assert (Path(path).stat().st_uid, Path(path).stat().st_mode & 0o777) == (65532, 0o700)
    termination_log = tmp_path / "data/scratch/u.main.0"
    assert (termination_log.stat().st_uid, termination_log.stat().st_mode & 0o777) == (65532, 0o600)
    for volume in (tmp_path / "data/claims/d/p-v", tmp_path / "data/pods/u/volumes/e"):
        assert (volume.stat().st_gid, volume.stat().st_mode & 0o7777) == (65531, 0o2777)


def test_a_shared_scratch_directory_lets_others_through_and_comes_back(tmp_path):
    """E13: it is found again by its link, recreated if it vanished, and not created where no process could reach it."""
    found = shared_scratch(tmp_path)
    assert found is not None
    assert found.stat().st_mode & 0o777 == 0o711
    assert shared_scratch(tmp_path) == found
    found.rmdir()
    again = shared_scratch(tmp_path)
    assert again is not None
    assert again != found
    remove_shared_scratch(tmp_path)
    assert not again.exists()
    tmp_path.chmod(0o700)
    assert shared_scratch(tmp_path, base=tmp_path) is None


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/", True),
        ("/etc/pam.d", True),
        ("/etc/passwd", True),
        ("/etc", True),
        ("/usr/bin", True),
        ("/bin", True),
        ("/proc/sys", True),
        ("/proc/own", True),
        ("/dev", True),
        ("/sys/x", True),
        ("/run/dbus", True),
        ("/tmp/../etc/pam.d", True),  # noqa: S108
        ("/etc/my-app", False),
        ("/usr/src/app", False),
        ("/run/secrets/x", False),
        ("/var/run/secrets/tokens", False),
        ("/dev/shm", False),  # noqa: S108
        ("/dev/termination-log", False),
        ("/tmp", False),  # noqa: S108
        ("/data", False),
        ("/workspace", False),
    ],
)
def test_a_volume_does_not_cover_the_machines_system(path, refused):
    """E8: an emptyDir at /etc/pam.d let `su` of a step make it root."""
    there = {
        "/etc",
        "/etc/pam.d",
        "/etc/passwd",
        "/usr/bin",
        "/bin",
        "/run/dbus",
        "/proc/sys",
        "/tmp",  # noqa: S108
        "/data",
    }
    host = Host(user=1000, group=1000, real_path=os.path.normpath, exists=there.__contains__)
    pod = a_pod(volumes=[{"name": "e", "emptyDir": {}}], volumeMounts=[{"name": "e", "mountPath": path}])
    problems = unsupported_fields(pod, host)
    assert bool(problems) is refused
    assert all(problem.startswith("spec.containers[0].volumeMounts[0].mountPath: ") for problem in problems)


def test_a_container_that_must_not_be_root_is_not(tmp_path):
    context = ContainerContext(paths=AgentPaths(data=tmp_path), host=ROOT, namespaces=True, inherited={})
    pod = a_pod(security={"runAsNonRoot": True})
    with pytest.raises(ConfigProblem, match="runAsNonRoot"):
        container_start_request(pod, RunKey("u", "main", 0), context, find)


REFUSED = [
    ({"command": []}, {}, "spec.containers[0].command"),
    ({"securityContext": {"privileged": True}}, {}, "spec.containers[0].securityContext.privileged"),
    ({"securityContext": {"runAsUser": 0}}, {}, "spec.containers[0].securityContext.runAsUser"),
    ({"livenessProbe": {"exec": {}}}, {}, "spec.containers[0].livenessProbe"),
    ({"lifecycle": {"preStop": {}}}, {}, "spec.containers[0].lifecycle.preStop"),
    ({"ports": [{"containerPort": 80, "hostPort": 81}]}, {}, "spec.containers[0].ports[0].hostPort"),
    ({}, {"volumes": [{"name": "n", "nfs": {}}]}, "spec.volumes[0].nfs"),
    (
        {},
        {"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {}}]}}]},
        "spec.volumes[0].projected.sources[0].serviceAccountToken",
    ),
    ({}, {"security": {"fsGroup": 0}}, "spec.securityContext.fsGroup"),
]


@pytest.mark.parametrize(("container", "pod", "field"), REFUSED, ids=[field for _, _, field in REFUSED])
def test_fields_that_a_process_cannot_emulate_are_refused_by_name(container, pod, field):
    assert [problem.partition(": ")[0] for problem in unsupported_fields(a_pod(**pod, **container), OWN)] == [
        field
    ]


def test_what_every_pod_has_is_not_refused():
    """The token that admission mounts is left out; the agent's own user and root's choice are fine."""
    token = {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {}}]}}
    mounts = [{"name": "kube-api-access-x", "mountPath": TOKEN_PATH}]
    assert unsupported_fields(a_pod(volumes=[token], volumeMounts=mounts), OWN) == []
    assert unsupported_fields(a_pod(securityContext={"runAsUser": 1000}), OWN) == []
    assert unsupported_fields(a_pod(securityContext={"runAsUser": 65532, "fsGroup": 65532}), OWN) == []
    assert unsupported_fields(a_pod(securityContext={"runAsUser": 7}), ROOT) == []
