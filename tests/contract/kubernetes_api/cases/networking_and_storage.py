"""Services, claims, nodes: the parts that this server's users need."""

from contract.kubernetes_api.objects import CLAIMS, SERVICES
from contract.kubernetes_api.session import TABLE, Session

NODES = "/api/v1/nodes"
VOLUMES = "/api/v1/persistentvolumes"


def _service(name="a", **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def _claim(name="a", **spec):
    wants = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {**wants, **spec},
    }


def a_service_is_filled_with_defaults(s: Session):
    s.post(SERVICES, _service(ports=[{"port": 80}], selector={"a": "b"}))


def a_headless_service_has_no_address(s: Session):
    s.post(SERVICES, _service(clusterIP="None", ports=[{"port": 80, "targetPort": "web"}]))


def a_service_needs_ports_that_make_sense(s: Session):
    s.post(SERVICES, _service())
    s.post(SERVICES, _service(ports=[{"port": 0}]))
    s.post(SERVICES, _service(ports=[{"port": 1}, {"port": 2}]))
    s.post(SERVICES, _service(ports=[{"port": 1, "protocol": "CARRIER-PIGEON"}]))
    s.post(SERVICES, _service(type="Sideways", ports=[{"port": 1}]))
    s.post(SERVICES, _service("1-digit", ports=[{"port": 1}]))


def a_service_address_does_not_change(s: Session):
    with s.unrecorded():
        s.post(SERVICES, _service(clusterIP="None", ports=[{"port": 80}]))
    s.merge(f"{SERVICES}/a", {"spec": {"clusterIP": "10.96.77.77"}})
    s.merge(f"{SERVICES}/a", {"spec": {"ports": [{"port": 81}]}})


def a_claim_is_filled_with_defaults(s: Session):
    s.post(CLAIMS, _claim())


def a_claim_is_checked(s: Session):
    s.post(CLAIMS, _claim(accessModes=[]))
    s.post(CLAIMS, _claim(accessModes=["ReadSometimes"]))
    s.post(CLAIMS, _claim(resources={}))
    s.post(CLAIMS, _claim(resources={"requests": {"storage": "0"}}))
    s.post(CLAIMS, _claim(volumeMode="Cloud"))


def a_claim_does_not_change(s: Session):
    with s.unrecorded():
        s.post(CLAIMS, _claim())
    s.merge(
        f"{CLAIMS}/a",
        {"spec": {"accessModes": ["ReadWriteMany"]}},
        select=lambda b: [
            b["code"],
            b["reason"],
            [[c["field"], c["reason"], c["message"].split("\n")[0]] for c in b["details"]["causes"]],
        ],
    )


def a_claim_is_protected_from_deletion_by_a_finalizer(s: Session):
    with s.unrecorded():
        s.post(CLAIMS, _claim())
    s.delete(f"{CLAIMS}/a")
    s.merge(
        f"{CLAIMS}/a", {"metadata": {"finalizers": None}}, select=lambda b: b["metadata"].get("finalizers")
    )
    s.get(f"{CLAIMS}/a")


def a_node_can_be_registered(s: Session):
    s.post(
        NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "{ns}-node", "labels": {"a": "b"}}}
    )
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "ok",
        "lastHeartbeatTime": "2024-01-01T00:00:00Z",
        "lastTransitionTime": "2024-01-01T00:00:00Z",
    }
    s.merge(
        f"{NODES}/{{ns}}-node/status",
        {"status": {"conditions": [ready], "capacity": {"cpu": "2", "memory": "4Gi"}}},
    )
    s.merge(f"{NODES}/{{ns}}-node", {"spec": {"unschedulable": True}})
    s.delete(f"{NODES}/{{ns}}-node")


def _volume(name="{ns}", **spec):
    wants = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {name: value for name, value in {**wants, **spec}.items() if value is not None},
    }


def a_volume_is_filled_with_defaults(s: Session):
    """D1: `kubectl apply --prune` lists PersistentVolumes."""
    with s.unrecorded():
        s.post(VOLUMES, _volume())
    s.get(f"{VOLUMES}/{{ns}}", select=lambda body: [body["spec"], body["status"]])
    s.get(
        f"{VOLUMES}?fieldSelector=metadata.name={{ns}}", accept=TABLE, select=lambda b: b["rows"][0]["cells"]
    )
    s.merge(f"{VOLUMES}/{{ns}}", {"spec": {"capacity": {"storage": "2Gi"}}}, select=lambda body: body["spec"])


def a_volume_is_checked(s: Session):
    s.post(VOLUMES, _volume(accessModes=[]))
    s.post(VOLUMES, _volume(accessModes=["ReadSometimes"]))
    s.post(VOLUMES, _volume(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]))
    s.post(VOLUMES, _volume(capacity={"storage": "0"}))
    s.post(VOLUMES, _volume(persistentVolumeReclaimPolicy="Burn", volumeMode="Cloud"))
    s.post(VOLUMES, _volume(hostPath=None))
    s.post(VOLUMES, _volume(hostPath={"path": ""}))
    s.post(VOLUMES, _volume(nfs={"server": "a", "path": "/b"}))
    s.post(VOLUMES, _volume(storageClassName="Bad_Class"))
