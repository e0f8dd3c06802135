"""What a container gets: variables, expanded commands, mapped paths, volumes; and what is refused."""

import base64
import os
from pathlib import Path

import pytest

from jangar.nodeagent.pods.container_order import Workshop, order_for, references
from jangar.nodeagent.pods.environment import ConfigProblem, environment
from jangar.nodeagent.pods.expansion import expanded
from jangar.nodeagent.pods.path_mapping import PathMapping
from jangar.nodeagent.pods.shared_words import leave, shared_words
from jangar.nodeagent.pods.spec_checks import TOKEN_PATH, Host, refused_fields
from jangar.nodeagent.pods.volume_files import Places, make_volumes, mounts_of
from jangar.nodeagent.supervisor.orders import RunKey

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
    assert expanded(text, {"A": "1", "B": "2"}) == expected


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
    found = make_volumes(pod, Places(data=tmp_path), find)
    assert (found["c"] / "deep/a").read_text() == "A"
    assert (found["c"] / "deep/a").stat().st_mode & 0o777 == 0o400
    assert (found["s"] / "pw").read_text() == "hunter2"
    assert (found["d"] / "l").read_text() == 'l="x\\"y"'
    assert sorted(each.name for each in found["all"].iterdir()) == ["a", "b", "pw"]
    assert found["p"] == tmp_path / "claims" / "d" / "p-claim-uid"
    (found["e"] / "kept").touch()
    assert (make_volumes(pod, Places(data=tmp_path), find)["e"] / "kept").exists()


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
    with pytest.raises(ConfigProblem, match="leads out of its volume"):
        mounts_of(container, {"e": tmp_path}, {})


@pytest.mark.parametrize("namespaces", [True, False], ids=["mounted", "mapped"])
def test_an_order_mounts_volumes_or_maps_their_paths(tmp_path, namespaces):
    """The termination message path is mapped in any case."""
    pod = a_pod(
        volumes=[{"name": "e", "emptyDir": {}}],
        args=["--in=/data/x", "$(WHO)", "/dev/termination-log"],
        env=[{"name": "WHO", "value": "/data"}],
        workingDir="/data",
        volumeMounts=[{"name": "e", "mountPath": "/data", "readOnly": True}],
    )
    shop = Workshop(places=Places(data=tmp_path), host=OWN, namespaces=namespaces, inherited={})
    order = order_for(pod, RunKey("u", "main", 0), shop, find)
    real = str(tmp_path / "pods/u/volumes/e")
    said = str(tmp_path / "scratch/u.main.0")
    assert order.argv[-1] == said
    if namespaces:
        assert order.argv[:3] == ("run", "--in=/data/x", "/data")
        assert order.cwd == "/data"
        assert [(each.source, each.target, each.read_only) for each in order.mounts] == [
            (real, "/data", True),
            (said, "/dev/termination-log", False),
        ]
    else:
        assert order.argv[:3] == ("run", f"--in={real}/x", real)
        assert (order.cwd, order.env["WHO"], order.mounts) == (real, real, ())


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_another_user_without_volumes_gets_no_mount_namespace(tmp_path):
    """Its last words lie where it can reach them: the path is mapped, the file is there and its own alone."""
    places = Places(data=tmp_path / "data", words=tmp_path)
    shop = Workshop(places=places, host=ROOT, namespaces=True, inherited={})
    pod = a_pod(args=["/dev/termination-log"], security={"runAsUser": 65532})
    order = order_for(pod, RunKey("u", "main", 0), shop, find)
    said = tmp_path / "u.main.0"
    assert (order.user, order.mounts, order.argv[-1]) == (65532, (), str(said))
    assert (said.stat().st_uid, said.stat().st_mode & 0o777) == (65532, 0o600)


def test_the_directory_of_last_words_is_made_once_and_lets_others_through(tmp_path):
    """It is found again by its link, made anew when it is gone, and not made where nobody could reach it."""
    found = shared_words(tmp_path)
    assert found is not None
    try:
        assert found.stat().st_mode & 0o777 == 0o711
        assert shared_words(tmp_path) == found
    finally:
        leave(found)
    assert not found.exists()
    again = shared_words(tmp_path)
    assert again is not None
    assert again != found
    leave(again)
    tmp_path.chmod(0o700)
    assert shared_words(tmp_path, base=tmp_path) is None


def test_a_container_that_must_not_be_root_is_not(tmp_path):
    shop = Workshop(places=Places(data=tmp_path), host=ROOT, namespaces=True, inherited={})
    pod = a_pod(security={"runAsNonRoot": True})
    with pytest.raises(ConfigProblem, match="runAsNonRoot"):
        order_for(pod, RunKey("u", "main", 0), shop, find)


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
def test_what_a_process_cannot_honour_is_refused_by_name(container, pod, field):
    assert [problem.partition(": ")[0] for problem in refused_fields(a_pod(**pod, **container), OWN)] == [
        field
    ]


def test_what_every_pod_has_is_not_refused():
    """The token that admission mounts is left out; the agent's own user and root's choice are fine."""
    token = {"name": "kube-api-access-x", "projected": {"sources": [{"serviceAccountToken": {}}]}}
    mounts = [{"name": "kube-api-access-x", "mountPath": TOKEN_PATH}]
    assert refused_fields(a_pod(volumes=[token], volumeMounts=mounts), OWN) == []
    assert refused_fields(a_pod(securityContext={"runAsUser": 1000}), OWN) == []
    assert refused_fields(a_pod(securityContext={"runAsUser": 65532, "fsGroup": 65532}), OWN) == []
    assert refused_fields(a_pod(securityContext={"runAsUser": 7}), ROOT) == []
