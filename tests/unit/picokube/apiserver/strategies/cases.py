"""Requests whose answers were recorded from a real server. `make` has no part in it: see record.py."""

from typing import Any

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
MAIN: dict[str, Any] = {"name": "main", "image": "busybox"}
NEVER: dict[str, Any] = {"restartPolicy": "Never", "containers": [MAIN]}

CASES: list[dict[str, Any]] = []


def case(name: str, path: str, sent: dict[str, Any], *then: dict[str, Any]) -> None:
    sent = {"metadata": {"name": "a"}, **sent}
    CASES.append({"name": name, "path": path, "sent": sent, **({"then": list(then)} if then else {})})


def change(merge: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    return {"merge": merge, **({"subresource": subresource} if subresource else {})}


def a_pod(name: str, spec: dict[str, Any], *then: dict[str, Any], meta: dict[str, Any] | None = None) -> None:
    case(f"pod: {name}", PODS, {"metadata": {"name": "a", **(meta or {})}, "spec": spec}, *then)


def with_main(**more: Any) -> dict[str, Any]:
    return {"containers": [MAIN | more]}


def a_job(name: str, spec: dict[str, Any], *then: dict[str, Any], meta: dict[str, Any] | None = None) -> None:
    case(
        f"job: {name}",
        JOBS,
        {"metadata": {"name": "a", **(meta or {})}, "spec": {"template": {"spec": NEVER}, **spec}},
        *then,
    )


# -- pods ---------------------------------------------------------------------------------------------------------

a_pod("plain", {"containers": [MAIN]})
a_pod("no containers", {"containers": []})
a_pod("nothing", {})
a_pod("no image", {"containers": [{"name": "main"}]})
a_pod("no name", {"containers": [{"image": "x"}]})
a_pod("bad container name", {"containers": [{"name": "Main_1", "image": "x:1"}]})
a_pod("two containers of a name", {"containers": [MAIN, MAIN]})
a_pod("image spaces", {"containers": [{"name": "main", "image": " x "}]})
a_pod(
    "images",
    {
        "containers": [
            {"name": f"c{n}", "image": image}
            for n, image in enumerate(
                ["x:latest", "x:1", "x@sha256:" + "0" * 64, "r:5000/x", "r:5000/x:2", "r.io/a/b/c", "UPPER"]
            )
        ]
    },
)
a_pod("bad restart policy", {"restartPolicy": "Sometimes", "containers": [MAIN]})
a_pod("bad dns policy", {"dnsPolicy": "x", "containers": [MAIN]})
a_pod("bad pull policy", with_main(imagePullPolicy="x"))
a_pod("bad termination message policy", with_main(terminationMessagePolicy="x"))
a_pod("negative grace", {"terminationGracePeriodSeconds": -1, "containers": [MAIN]})
a_pod("negative deadline", {"activeDeadlineSeconds": 0, "containers": [MAIN]})
a_pod(
    "probes",
    with_main(
        livenessProbe={"httpGet": {"port": 80}},
        readinessProbe={"exec": {"command": ["x"]}, "periodSeconds": 5},
        startupProbe={"tcpSocket": {"port": "http"}},
        lifecycle={"preStop": {"httpGet": {"port": 1}}, "postStart": {"exec": {"command": ["a"]}}},
        ports=[{"containerPort": 80, "name": "http"}],
    ),
)
a_pod("empty probe", with_main(livenessProbe={}))
a_pod("two handlers", with_main(livenessProbe={"httpGet": {"port": 80}, "exec": {"command": ["x"]}}))
a_pod(
    "probe numbers",
    with_main(livenessProbe={"tcpSocket": {"port": 0}, "successThreshold": 2, "periodSeconds": -1}),
)
a_pod("grpc probe", with_main(readinessProbe={"grpc": {"port": 80}}))
a_pod(
    "ports",
    with_main(
        ports=[
            {"containerPort": 0},
            {"containerPort": 70000, "hostPort": -1, "protocol": "x"},
            {"containerPort": 1, "name": "Bad Name"},
        ]
    ),
)
a_pod(
    "same port names", with_main(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}])
)
a_pod("env", with_main(env=[{"name": "", "value": "1"}, {"name": "a=b"}, {"name": "OK", "value": "1"}]))
a_pod(
    "env sources",
    with_main(
        env=[
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k", "optional": True}}},
            {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
        envFrom=[{"secretRef": {"name": "x"}}, {"configMapRef": {"name": "y"}, "prefix": "P_"}],
    ),
)
a_pod(
    "bad env sources",
    with_main(
        env=[
            {"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B", "valueFrom": {}},
            {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec.bogus"}}},
            {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}},
            {"name": "E", "valueFrom": {"fieldRef": {"fieldPath": ""}}},
            {"name": "F", "valueFrom": {"configMapKeyRef": {"name": "", "key": "a b"}}},
        ],
        envFrom=[{}, {"secretRef": {"name": ""}}],
    ),
)
a_pod(
    "mounts",
    {"containers": [MAIN | {"volumeMounts": [{"name": "v", "mountPath": "/a"}]}], "volumes": [{"name": "v"}]},
)
a_pod(
    "bad mounts",
    {
        "containers": [
            MAIN
            | {
                "volumeMounts": [
                    {"name": "missing", "mountPath": "/a"},
                    {"name": "v", "mountPath": ""},
                    {"name": "v", "mountPath": "/b"},
                    {"name": "v", "mountPath": "/b"},
                    {"name": "v", "mountPath": "/c", "subPath": "../x"},
                    {"name": "", "mountPath": "/d"},
                ]
            }
        ],
        "volumes": [{"name": "v"}],
    },
)
a_pod(
    "volumes",
    {
        "containers": [MAIN],
        "volumes": [
            {"name": "a", "secret": {"secretName": "s"}},
            {"name": "b", "configMap": {"name": "c"}},
            {"name": "c", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            {"name": "d", "hostPath": {"path": "/x"}},
            {"name": "e", "persistentVolumeClaim": {"claimName": "p"}},
            {
                "name": "f",
                "downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.labels"}}]},
            },
            {
                "name": "g",
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "t"}},
                        {"configMap": {"name": "x"}},
                        {"secret": {"name": "y"}},
                    ]
                },
            },
        ],
    },
)
a_pod(
    "bad volumes",
    {
        "containers": [MAIN],
        "volumes": [
            {"name": "a", "secret": {}},
            {"name": "a", "configMap": {}},
            {"name": "B_", "emptyDir": {}},
            {"name": "", "hostPath": {"path": ""}},
            {"name": "two", "emptyDir": {}, "secret": {"secretName": "x"}},
            {"name": "pvc", "persistentVolumeClaim": {"claimName": ""}},
            {
                "name": "mode",
                "secret": {"secretName": "x", "defaultMode": 1000, "items": [{"key": "", "path": ""}]},
            },
        ],
    },
)
a_pod(
    "resources",
    with_main(
        resources={
            "limits": {"cpu": "1000m", "memory": "1024Mi", "example.com/gpu": "2"},
            "requests": {"cpu": 0.5},
        }
    ),
)
a_pod("requests over limits", with_main(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}))
a_pod("negative resources", with_main(resources={"requests": {"bogus": "-1"}}))
a_pod(
    "small resources",
    with_main(resources={"limits": {"cpu": "0.0001", "memory": "1.5Gi"}, "requests": {"memory": "1e3"}}),
)
a_pod("guaranteed", with_main(resources={"limits": {"cpu": "1", "memory": "1Gi"}}))
a_pod("init containers", {"containers": [MAIN], "initContainers": [{"name": "init", "image": "x:1"}]})
a_pod("same name in init", {"containers": [MAIN], "initContainers": [MAIN]})
a_pod(
    "sidecar",
    {"containers": [MAIN], "initContainers": [{"name": "s", "image": "x:1", "restartPolicy": "Always"}]},
)
a_pod(
    "lifecycle in init",
    {
        "containers": [MAIN],
        "initContainers": [
            {
                "name": "s",
                "image": "x:1",
                "livenessProbe": {"exec": {"command": ["a"]}},
                "restartPolicy": "Never",
            }
        ],
    },
)
a_pod("node selector", {"containers": [MAIN], "nodeSelector": {"a b": "c d"}})
a_pod("node name", {"containers": [MAIN], "nodeName": "n1"})
a_pod("bad node name", {"containers": [MAIN], "nodeName": "N 1"})
a_pod("host network", {"hostNetwork": True, "containers": [MAIN | {"ports": [{"containerPort": 80}]}]})
a_pod(
    "tolerations",
    {
        "containers": [MAIN],
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
            {"key": "a", "operator": "x"},
        ],
    },
)
a_pod("tolerate all", {"containers": [MAIN], "tolerations": [{"operator": "Exists"}]})
a_pod("service account", {"containers": [MAIN], "serviceAccount": "default"})
a_pod("missing service account", {"containers": [MAIN], "serviceAccountName": "robot"})
a_pod("no token", {"containers": [MAIN], "automountServiceAccountToken": False})
a_pod("priority class", {"containers": [MAIN], "priorityClassName": "system-node-critical"})
a_pod("missing priority class", {"containers": [MAIN], "priorityClassName": "robot"})
a_pod("own priority", {"containers": [MAIN], "priority": 7})
a_pod(
    "security",
    {
        "securityContext": {"runAsUser": -1, "fsGroup": 5},
        "containers": [
            MAIN
            | {"securityContext": {"runAsUser": 0, "privileged": False, "capabilities": {"drop": ["ALL"]}}}
        ],
    },
)
a_pod("escalation", with_main(securityContext={"privileged": True, "allowPrivilegeEscalation": False}))
a_pod("hostname", {"hostname": "Bad_", "subdomain": "x.y", "containers": [MAIN]})
a_pod("pull secrets", {"imagePullSecrets": [{"name": "a"}, {}], "containers": [MAIN]})
a_pod("aliases", {"hostAliases": [{"ip": "x", "hostnames": ["a_b"]}], "containers": [MAIN]})
a_pod(
    "affinity",
    {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]
                }
            }
        },
        "containers": [MAIN],
    },
)
a_pod(
    "spread",
    {
        "topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "x"}],
        "containers": [MAIN],
    },
)
a_pod("status is dropped", {"containers": [MAIN]})
a_pod("a long name", {"containers": [MAIN]}, meta={"name": "a" * 64})
a_pod("labels", {"containers": [MAIN]}, meta={"labels": {"a/b/c": "x y"}})
a_pod(
    "update image",
    {"containers": [MAIN]},
    change(
        {
            "spec": {
                "containers": [
                    MAIN
                    | {
                        "image": "x:2",
                        "imagePullPolicy": "Always",
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                    }
                ]
            }
        }
    ),
)
a_pod(
    "update command",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change({"spec": {"containers": [MAIN | {"command": ["x"]}]}}),
)
a_pod(
    "update containers",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change({"spec": {"containers": [MAIN, MAIN | {"name": "b"}]}}),
)
a_pod(
    "update deadline",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change({"spec": {"activeDeadlineSeconds": 50}}),
)
a_pod(
    "lower deadline away",
    {"automountServiceAccountToken": False, "activeDeadlineSeconds": 50, "containers": [MAIN]},
    change({"spec": {"activeDeadlineSeconds": 60}}),
)
a_pod(
    "update restart policy",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change({"spec": {"restartPolicy": "Never"}}),
)
a_pod(
    "update tolerations away",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change({"spec": {"tolerations": None}}),
)
a_pod(
    "status by status",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change(
        {"status": {"phase": "Running"}, "spec": {"nodeName": "x"}, "metadata": {"labels": {"a": "b"}}},
        "status",
    ),
)
a_pod(
    "status by update",
    {"automountServiceAccountToken": False, "containers": [MAIN]},
    change({"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}),
)

# -- jobs ---------------------------------------------------------------------------------------------------------

a_job("plain", {})
a_job("no template", {"template": {}})
a_job("restart always", {"template": {"spec": {"containers": [MAIN]}}})
a_job("bad restart policy", {"template": {"spec": {"restartPolicy": "x", "containers": [MAIN]}}})
a_job("template labels", {"template": {"metadata": {"labels": {"a": "b"}}, "spec": NEVER}})
a_job(
    "own labels",
    {"template": {"metadata": {"labels": {"a": "b"}}, "spec": NEVER}},
    meta={"labels": {"c": "d"}},
)
a_job("parallel", {"parallelism": 3})
a_job("completions", {"completions": 3})
a_job(
    "negative numbers",
    {
        "parallelism": -1,
        "completions": -1,
        "backoffLimit": -1,
        "activeDeadlineSeconds": -1,
        "ttlSecondsAfterFinished": -1,
    },
)
a_job("indexed", {"completionMode": "Indexed", "completions": 5, "parallelism": 2})
a_job("indexed without completions", {"completionMode": "Indexed", "parallelism": 2})
a_job("indexed too long", {"completionMode": "Indexed", "completions": 5}, meta={"name": "a" * 63})
a_job("bad completion mode", {"completionMode": "x"})
a_job(
    "per index",
    {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1, "maxFailedIndexes": 2},
)
a_job("per index without indexed", {"backoffLimitPerIndex": 1})
a_job("selector", {"selector": {"matchLabels": {"a": "b"}}})
a_job(
    "manual selector",
    {
        "manualSelector": True,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": NEVER},
    },
)
a_job("manual selector mismatch", {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}})
a_job(
    "suspended",
    {"suspend": True, "backoffLimit": 0, "ttlSecondsAfterFinished": 5, "activeDeadlineSeconds": 9},
)
a_job(
    "failure policy",
    {
        "podFailurePolicy": {
            "rules": [
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            ]
        }
    },
)
a_job(
    "bad failure policy",
    {
        "podFailurePolicy": {
            "rules": [
                {"action": "x"},
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}},
                {
                    "action": "FailIndex",
                    "onExitCodes": {"containerName": "no", "operator": "x", "values": []},
                },
            ]
        }
    },
)
a_job(
    "failure policy on failure",
    {
        "podFailurePolicy": {"rules": []},
        "template": {"spec": {"restartPolicy": "OnFailure", "containers": [MAIN]}},
    },
)
a_job("replacement policy", {"podReplacementPolicy": "x"})
a_job(
    "success policy",
    {
        "completionMode": "Indexed",
        "completions": 3,
        "successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]},
    },
)
a_job("managed by", {"managedBy": "example.com/robot"})
a_job("bad managed by", {"managedBy": "robot"})
a_job("bad template", {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "A"}]}}})
a_job("long name", {}, meta={"name": "a" * 64})
a_job("dotted name", {}, meta={"name": "a.b"})
a_job(
    "change template", {}, change({"spec": {"template": {"spec": {"containers": [MAIN | {"image": "x"}]}}}})
)
a_job("change completions", {"completions": 2}, change({"spec": {"completions": 3}}))
a_job(
    "change indexed completions",
    {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
    change({"spec": {"completions": 3, "parallelism": 3}}),
)
a_job(
    "change parallelism",
    {},
    change(
        {
            "spec": {
                "parallelism": 3,
                "suspend": True,
                "ttlSecondsAfterFinished": 6,
                "activeDeadlineSeconds": 5,
                "backoffLimit": 2,
            }
        }
    ),
)
a_job("change selector", {}, change({"spec": {"selector": {"matchLabels": {"a": "b"}}}}))
a_job("change completion mode", {"completions": 2}, change({"spec": {"completionMode": "Indexed"}}))
a_job("change managed by", {}, change({"spec": {"managedBy": "example.com/x"}}))
a_job(
    "change template of suspended",
    {"suspend": True},
    change(
        {"spec": {"template": {"metadata": {"labels": {"x": "y"}}, "spec": {"nodeSelector": {"a": "b"}}}}}
    ),
)
a_job(
    "status by status",
    {},
    change(
        {"status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}, "spec": {"parallelism": 7}}, "status"
    ),
)
a_job(
    "status finished without end",
    {},
    change({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, "status"),
)
a_job("status by update", {}, change({"status": {"active": 1}, "metadata": {"labels": {"a": "b"}}}))


def a_cron_job(
    name: str, spec: dict[str, Any], *then: dict[str, Any], meta: dict[str, Any] | None = None
) -> None:
    template = {"spec": {"template": {"spec": NEVER}}}
    spec = {"schedule": "*/5 * * * *", "jobTemplate": template, **spec}
    case(f"cron job: {name}", CRON_JOBS, {"metadata": {"name": "a", **(meta or {})}, "spec": spec}, *then)


a_cron_job("plain", {})
a_cron_job("no schedule", {"schedule": ""})
for n, schedule in enumerate(
    ["x", "* * * *", "* * * * * *", "60 * * * *", "*/0 * * * *", "@daily", "@bogus", "@every 1h", "@every x",
     "1-5,7 */2 1 jan-mar mon", "5-1 * * * *", "TZ=UTC * * * * *", "CRON_TZ=x * * * * *", "0 0 31 2 *", "* * 0 * *",
     "a * * * *",
     "*/5/5 * * * *", "1--5 * * * *", "? * * * *", "* * * * 8", "* * * 13 *", "* 24 * * *", "*/100 * * * *",
     "1,,2 * * * *"]
):  # fmt: skip
    a_cron_job(f"schedule {n}", {"schedule": schedule})
a_cron_job("time zone", {"timeZone": "Europe/Berlin"})
a_cron_job("bad time zone", {"timeZone": "Mars/Base"})
a_cron_job("empty time zone", {"timeZone": ""})
a_cron_job("local time zone", {"timeZone": "local"})
a_cron_job(
    "bad policy",
    {
        "concurrencyPolicy": "x",
        "startingDeadlineSeconds": -1,
        "successfulJobsHistoryLimit": -1,
        "failedJobsHistoryLimit": -1,
    },
)
a_cron_job("restart always", {"jobTemplate": {"spec": {"template": {"spec": {"containers": [MAIN]}}}}})
a_cron_job(
    "manual selector", {"jobTemplate": {"spec": {"manualSelector": True, "template": {"spec": NEVER}}}}
)
a_cron_job("long name", {}, meta={"name": "a" * 53})
a_cron_job("suspend", {}, change({"spec": {"suspend": True, "schedule": "1 * * * *"}}))
a_cron_job("change template", {}, change({"spec": {"jobTemplate": {"spec": {"parallelism": 2}}}}))
a_cron_job(
    "status",
    {},
    change({"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}, "spec": {"suspend": True}}, "status"),
)

# -- core kinds ----------------------------------------------------------------------------------------------------

NAMESPACES, CONFIG_MAPS = "/api/v1/namespaces", "/api/v1/namespaces/default/configmaps"
SECRETS, ACCOUNTS = "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/serviceaccounts"

case("namespace: plain", NAMESPACES, {})
case("namespace: bad name", NAMESPACES, {"metadata": {"name": "a.b"}})
case(
    "namespace: labels",
    NAMESPACES,
    {"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "x", "b": "c"}}},
)
case(
    "namespace: own finalizers",
    NAMESPACES,
    {"metadata": {"name": "a2"}, "spec": {"finalizers": ["example.com/x"]}},
)
case("namespace: bad finalizers", NAMESPACES, {"metadata": {"name": "a3"}, "spec": {"finalizers": ["x"]}})
case(
    "namespace: label taken away",
    NAMESPACES,
    {"metadata": {"name": "a4"}},
    change({"metadata": {"labels": None}, "spec": {"finalizers": []}, "status": {"phase": "Terminating"}}),
)
case(
    "namespace: status",
    NAMESPACES,
    {"metadata": {"name": "a5"}},
    change({"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Terminating"}}, "status"),
)

case("config map: plain", CONFIG_MAPS, {"data": {"a": "b"}, "binaryData": {"c": "AAEC"}})
case("config map: empty", CONFIG_MAPS, {"data": {}, "immutable": False})
case("config map: bad keys", CONFIG_MAPS, {"data": {"a b": "c"}})
case("config map: dots", CONFIG_MAPS, {"data": {"..": "c"}})
case("config map: key in both", CONFIG_MAPS, {"data": {"a": "c"}, "binaryData": {"a": "AAEC"}})
case("config map: generation", CONFIG_MAPS, {"metadata": {"name": "a", "generation": 7}})
case("config map: bad name", CONFIG_MAPS, {"metadata": {"name": "A_"}})
case("config map: change", CONFIG_MAPS, {"data": {"a": "b"}}, change({"data": {"a": "c", "d": "e"}}))
case(
    "config map: immutable",
    CONFIG_MAPS,
    {"immutable": True, "data": {"a": "b"}},
    change({"data": {"a": "c"}}),
)
case(
    "config map: immutable is for good",
    CONFIG_MAPS,
    {"immutable": True, "data": {"a": "b"}},
    change({"immutable": False}),
)
case(
    "config map: immutable binary",
    CONFIG_MAPS,
    {"immutable": True, "data": {"a": "b"}},
    change({"binaryData": {"x": "AAEC"}}),
)
case(
    "config map: immutable labels",
    CONFIG_MAPS,
    {"immutable": True, "data": {"a": "b"}},
    change({"metadata": {"labels": {"a": "b"}}}),
)

case("secret: plain", SECRETS, {"data": {"a": "YQ=="}, "stringData": {"b": "b", "a": "x"}})
case("secret: empty", SECRETS, {})
case("secret: bad key", SECRETS, {"data": {"a/b": "YQ=="}})
case("secret: tls", SECRETS, {"type": "kubernetes.io/tls"})
case("secret: tls pair", SECRETS, {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}})
case("secret: docker", SECRETS, {"type": "kubernetes.io/dockerconfigjson"})
case(
    "secret: docker text",
    SECRETS,
    {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "x"}},
)
case(
    "secret: docker good",
    SECRETS,
    {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}},
)
case("secret: basic auth", SECRETS, {"type": "kubernetes.io/basic-auth"})
case("secret: ssh", SECRETS, {"type": "kubernetes.io/ssh-auth"})
case("secret: account token", SECRETS, {"type": "kubernetes.io/service-account-token"})
case("secret: type is kept", SECRETS, {"type": "x"}, change({"type": "y"}))
case(
    "secret: immutable",
    SECRETS,
    {"immutable": True, "stringData": {"a": "b"}},
    change({"data": {"a": "Yw=="}}),
)
case("secret: immutable is for good", SECRETS, {"immutable": True}, change({"immutable": None}))
case("secret: string data in an update", SECRETS, {}, change({"stringData": {"a": "b"}}))

case("account: plain", ACCOUNTS, {"secrets": [{"name": "x"}], "imagePullSecrets": [{"name": "y"}]})
case("account: bad name", ACCOUNTS, {"metadata": {"name": "A"}})
case("account: automount", ACCOUNTS, {"automountServiceAccountToken": False})

# -- events and leases ---------------------------------------------------------------------------------------------

EVENTS, NEW_EVENTS = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ABOUT: dict[str, Any] = {"kind": "Pod", "name": "p", "namespace": "default", "apiVersion": "v1", "uid": "u"}

case(
    "event: plain",
    EVENTS,
    {
        "involvedObject": ABOUT,
        "reason": "R",
        "message": "M",
        "type": "Normal",
        "source": {"component": "c"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    },
)
case("event: nothing", EVENTS, {})
case("event: other namespace", EVENTS, {"involvedObject": ABOUT | {"namespace": "other"}})
case("event: any type", EVENTS, {"involvedObject": ABOUT, "type": "x"})
case(
    "event: new style",
    EVENTS,
    {
        "involvedObject": ABOUT,
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingComponent": "example.com/c",
        "reportingInstance": "i",
        "action": "A",
        "reason": "R",
        "type": "Normal",
    },
)
case(
    "event: new style incomplete",
    EVENTS,
    {"involvedObject": ABOUT, "eventTime": "2026-01-01T00:00:00.000000Z"},
)
case("event: change", EVENTS, {"involvedObject": ABOUT, "count": 1}, change({"count": 2, "message": "x"}))
case("event: cluster scoped", EVENTS, {"involvedObject": {"kind": "Node", "name": "n"}})
case(
    "new event: plain",
    NEW_EVENTS,
    {
        "regarding": ABOUT,
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "A",
        "reason": "R",
        "type": "Normal",
        "note": "N",
    },
)
case("new event: incomplete", NEW_EVENTS, {"regarding": ABOUT})
case(
    "new event: almost",
    NEW_EVENTS,
    {"regarding": ABOUT, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "x"},
)
case(
    "new event: change",
    NEW_EVENTS,
    {
        "regarding": ABOUT,
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "A",
        "reason": "R",
        "type": "Normal",
    },
    change({"note": "x"}),
)
case(
    "new event: series",
    NEW_EVENTS,
    {
        "regarding": ABOUT,
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
        "action": "A",
        "reason": "R",
        "type": "Normal",
    },
    change({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}),
)

case(
    "lease: plain",
    LEASES,
    {
        "spec": {
            "holderIdentity": "h",
            "leaseDurationSeconds": 5,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T02:00:00.123456+02:00",
            "leaseTransitions": 0,
        }
    },
)
case("lease: empty", LEASES, {})
case("lease: bad numbers", LEASES, {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}})
case("lease: bad strategy", LEASES, {"spec": {"strategy": "x", "preferredHolder": ""}})
case(
    "lease: renew",
    LEASES,
    {"spec": {"holderIdentity": "h"}},
    change({"spec": {"renewTime": "2026-01-01T02:00:00.123456Z"}}),
)

# -- access --------------------------------------------------------------------------------------------------------

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES, BINDINGS = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
READ: dict[str, Any] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
REF: dict[str, Any] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}

case("role: plain", ROLES, {"rules": [READ]})
case("role: no rules", ROLES, {})
case("role: odd name", ROLES, {"metadata": {"name": "system:a B"}})
case("role: bad name", ROLES, {"metadata": {"name": "a%b"}})
case(
    "role: bad rules",
    ROLES,
    {
        "rules": [
            {"resources": ["x"]},
            {"verbs": ["get"]},
            {"verbs": ["get"], "apiGroups": [""]},
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
        ]
    },
)
case("role: change", ROLES, {"rules": [READ]}, change({"rules": []}))
case(
    "cluster role: plain", f"{RBAC}/clusterroles", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}
)
case(
    "cluster role: aggregated",
    f"{RBAC}/clusterroles",
    {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}},
)
case(
    "cluster role: bad aggregation", f"{RBAC}/clusterroles", {"aggregationRule": {"clusterRoleSelectors": []}}
)
case("cluster role: mixed", f"{RBAC}/clusterroles", {"rules": [READ | {"nonResourceURLs": ["/x"]}]})
case(
    "binding: plain",
    BINDINGS,
    {
        "roleRef": REF,
        "subjects": [
            {"kind": "User", "name": "u"},
            {"kind": "ServiceAccount", "name": "s", "namespace": "default"},
            {"kind": "Group", "name": "g"},
        ],
    },
)
case("binding: short ref", BINDINGS, {"roleRef": {"kind": "Role", "name": "r"}})
case("binding: nothing", BINDINGS, {})
case("binding: bad ref", BINDINGS, {"roleRef": {"apiGroup": "x", "kind": "y", "name": "a%"}})
case(
    "binding: bad subjects",
    BINDINGS,
    {
        "roleRef": REF,
        "subjects": [
            {"kind": "x", "name": "a"},
            {"kind": "User"},
            {"kind": "ServiceAccount", "name": "S"},
            {"kind": "ServiceAccount", "name": "s", "apiGroup": "x"},
            {"kind": "Group", "name": "g", "apiGroup": "y"},
        ],
    },
)
case("binding: ref is kept", BINDINGS, {"roleRef": REF}, change({"roleRef": {"name": "other"}}))
case(
    "cluster binding: plain",
    f"{RBAC}/clusterrolebindings",
    {"roleRef": REF | {"kind": "ClusterRole"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}]},
)
case("cluster binding: to a role", f"{RBAC}/clusterrolebindings", {"roleRef": REF})

# -- priorities ----------------------------------------------------------------------------------------------------

PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
case("priority: plain", PRIORITIES, {"value": 5, "description": "d"})
case("priority: none", PRIORITIES, {})
case("priority: system", PRIORITIES, {"metadata": {"name": "system-x"}, "value": 5})
case("priority: too high", PRIORITIES, {"value": 2000000000})
case("priority: bad policy", PRIORITIES, {"value": 1, "preemptionPolicy": "x"})
case("priority: value is kept", PRIORITIES, {"value": 1}, change({"value": 2, "preemptionPolicy": "Never"}))

# -- services and claims -------------------------------------------------------------------------------------------

SERVICES, CLAIMS = "/api/v1/namespaces/default/services", "/api/v1/namespaces/default/persistentvolumeclaims"
HTTP: dict[str, Any] = {"port": 80}

case("service: plain", SERVICES, {"spec": {"ports": [HTTP], "selector": {"a": "b"}}})
case("service: headless", SERVICES, {"spec": {"clusterIP": "None", "ports": [HTTP]}})
case("service: headless without ports", SERVICES, {"spec": {"clusterIP": "None", "selector": {"a": "b"}}})
case("service: external name", SERVICES, {"spec": {"type": "ExternalName", "externalName": "example.com"}})
case("service: external name missing", SERVICES, {"spec": {"type": "ExternalName"}})
case("service: no ports", SERVICES, {"spec": {}})
case("service: nothing", SERVICES, {})
case("service: bad name", SERVICES, {"metadata": {"name": "1a"}, "spec": {"ports": [HTTP]}})
case(
    "service: bad ports",
    SERVICES,
    {
        "spec": {
            "ports": [
                {"port": 0, "name": "a"},
                {"port": 80, "protocol": "x", "name": "A"},
                {"port": 81, "targetPort": 99999},
            ]
        }
    },
)
case("service: unnamed ports", SERVICES, {"spec": {"ports": [HTTP, {"port": 81}]}})
case(
    "service: same ports",
    SERVICES,
    {"spec": {"ports": [HTTP | {"name": "a"}, HTTP | {"name": "b"}, {"port": 1, "name": "a"}]}},
)
case(
    "service: target port",
    SERVICES,
    {"spec": {"ports": [{"port": 80, "targetPort": "http", "protocol": "UDP", "appProtocol": "h2c"}]}},
)
case("service: bad type", SERVICES, {"spec": {"type": "x", "ports": [HTTP], "sessionAffinity": "y"}})
case("service: affinity", SERVICES, {"spec": {"ports": [HTTP], "sessionAffinity": "ClientIP"}})
case("service: node port", SERVICES, {"spec": {"type": "NodePort", "ports": [HTTP]}})
case("service: load balancer", SERVICES, {"spec": {"type": "LoadBalancer", "ports": [HTTP]}})
case("service: bad selector", SERVICES, {"spec": {"ports": [HTTP], "selector": {"a b": "c d"}}})
case(
    "service: change",
    SERVICES,
    {"spec": {"ports": [HTTP]}},
    change({"spec": {"ports": [{"port": 81}], "selector": {"a": "b"}}}),
)
case(
    "service: address is kept",
    SERVICES,
    {"spec": {"ports": [HTTP]}},
    change({"spec": {"clusterIP": "10.96.3.4"}}),
)
case(
    "service: address left out",
    SERVICES,
    {"spec": {"ports": [HTTP]}},
    change({"spec": {"clusterIP": None, "clusterIPs": None}}),
)
case(
    "service: status",
    SERVICES,
    {"spec": {"ports": [HTTP]}},
    change(
        {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, "spec": {"selector": {"a": "b"}}},
        "status",
    ),
)

SPACE: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
case("claim: plain", CLAIMS, {"spec": SPACE})
case("claim: class", CLAIMS, {"spec": SPACE | {"storageClassName": "", "volumeMode": "Block"}})
case("claim: nothing", CLAIMS, {})
case(
    "claim: bad",
    CLAIMS,
    {"spec": {"accessModes": ["x"], "resources": {"requests": {"storage": "-1"}}, "volumeMode": "x"}},
)
case(
    "claim: zero",
    CLAIMS,
    {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0"}}}},
)
case("claim: spec is kept", CLAIMS, {"spec": SPACE}, change({"spec": {"accessModes": ["ReadWriteMany"]}}))
case(
    "claim: status",
    CLAIMS,
    {"metadata": {"name": "b"}, "spec": SPACE},
    change({"status": {"phase": "Bound"}}, "status"),
)

# -- nodes ---------------------------------------------------------------------------------------------------------

NODES = "/api/v1/nodes"
case("node: plain", NODES, {})
case(
    "node: status",
    NODES,
    {},
    change(
        {
            "status": {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]},
            "spec": {"unschedulable": True},
        },
        "status",
    ),
)
case(
    "node: taints",
    NODES,
    {"spec": {"taints": [{"key": "a", "effect": "x"}, {"key": "b", "effect": "NoSchedule"}]}},
)
case("node: with status", NODES, {"status": {"capacity": {"cpu": "2", "memory": "1Gi"}}})

# -- kinds that are only stored ------------------------------------------------------------------------------------

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LABELED: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [MAIN]}}
SELECTED: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": LABELED}
case("deployment: plain", DEPLOYMENTS, {"spec": SELECTED})
case(
    "deployment: recreate",
    DEPLOYMENTS,
    {"spec": SELECTED | {"replicas": 0, "strategy": {"type": "Recreate"}}},
)
case("deployment: nothing", DEPLOYMENTS, {})
case("deployment: mismatch", DEPLOYMENTS, {"spec": SELECTED | {"selector": {"matchLabels": {"x": "y"}}}})
case("deployment: restart never", DEPLOYMENTS, {"spec": SELECTED | {"template": LABELED | {"spec": NEVER}}})
case(
    "deployment: selector is kept",
    DEPLOYMENTS,
    {"spec": SELECTED},
    change(
        {"spec": {"selector": {"matchLabels": {"c": "d"}}, "template": {"metadata": {"labels": {"c": "d"}}}}}
    ),
)
case("deployment: scale", DEPLOYMENTS, {"spec": SELECTED}, change({"spec": {"replicas": 3}}))
case("replica set: plain", "/apis/apps/v1/namespaces/default/replicasets", {"spec": SELECTED})
case(
    "stateful set: plain",
    "/apis/apps/v1/namespaces/default/statefulsets",
    {
        "spec": SELECTED
        | {"serviceName": "s", "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": SPACE}]}
    },
)
case("daemon set: plain", "/apis/apps/v1/namespaces/default/daemonsets", {"spec": SELECTED})
case(
    "ingress: plain",
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    {
        "spec": {
            "rules": [
                {
                    "host": "x.com",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        }
    },
)
case(
    "policy: plain",
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
    {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}},
)
case(
    "policy: egress",
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
    {"spec": {"podSelector": {}, "egress": [{}]}},
)
case(
    "autoscaler: plain",
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    {
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        }
    },
)
case(
    "budget: plain",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}},
)
case("storage class: plain", "/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "example.com/x"})
case(
    "endpoints: plain",
    "/api/v1/namespaces/default/endpoints",
    {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
)
case(
    "slice: plain",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]},
)
case(
    "quota: plain",
    "/api/v1/namespaces/default/resourcequotas",
    {"spec": {"hard": {"pods": "5", "requests.cpu": "1000m"}}},
)
case(
    "limits: plain",
    "/api/v1/namespaces/default/limitranges",
    {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}},
)
HOOK: dict[str, Any] = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://x.com/y"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
}
case(
    "validating hook: plain",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    {"webhooks": [HOOK]},
)
case(
    "mutating hook: plain",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    {"webhooks": [HOOK]},
)
