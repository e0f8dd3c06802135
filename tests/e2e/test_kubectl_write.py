"""kubectl's other writes: create of every kind (protobuf bodies), patches of every type, label, replace, run."""

import json

import pytest

from e2e.kubectl_command import ageless, in_own_namespace, on

kubectl = on("embedded", "real")
k = in_own_namespace()

TOOL_RUN = {
    "apiVersion": "tools.proompteng.ai/v1alpha1",
    "kind": "ToolRun",
    "metadata": {"name": "greet"},
    "spec": {"toolRef": {"name": "greet"}},
}


@pytest.fixture
def run(k):
    k("create -f -", TOOL_RUN)
    return k


def patch(target, body, *options):
    return f"patch {target} {' '.join(options)} -p '{json.dumps(body)}'"


@pytest.mark.parametrize(
    ("line", "made"),
    [
        pytest.param("configmap plain --from-literal=a=1", "configmap/plain", id="configmap"),
        pytest.param("secret generic token --from-literal=key=value", "secret/token", id="secret"),
        pytest.param(
            "secret docker-registry pull --docker-server=r.example --docker-username=u --docker-password=p",
            "secret/pull",
            id="docker-registry",
        ),
        pytest.param("serviceaccount robot", "serviceaccount/robot", id="serviceaccount"),
        pytest.param("job hello --image=busybox -- echo hi", "job.batch/hello", id="job"),
        pytest.param(
            "cronjob nightly --image=busybox --schedule='0 3 * * *' -- echo hi",
            "cronjob.batch/nightly",
            id="cronjob",
        ),
        pytest.param(
            "role reader --verb=get,list --resource=pods,configmaps",
            "role.rbac.authorization.k8s.io/reader",
            id="role",
        ),
        pytest.param(
            "rolebinding readers --role=reader --user=somebody",
            "rolebinding.rbac.authorization.k8s.io/readers",
            id="rolebinding",
        ),
        pytest.param("quota few --hard=pods=3", "resourcequota/few", id="quota"),
        pytest.param("service clusterip web --tcp=80:8080", "service/web", id="service"),
        pytest.param("deployment web --image=nginx", "deployment.apps/web", id="deployment"),
        pytest.param("ingress web --rule=a.example/*=web:80", "ingress.networking.k8s.io/web", id="ingress"),
        pytest.param(
            "poddisruptionbudget web --selector=app=web --min-available=1",
            "poddisruptionbudget.policy/web",
            id="poddisruptionbudget",
        ),
    ],
)
def test_create_creates_each_kind_once(k, line, made):
    name = made.partition("/")[2]
    refused = f'"{name}" already exists\n'
    words, dashes, command = line.partition(" -- ")
    assert k(f"create {words} --dry-run=server{dashes}{command}") == f"{made} created (server dry run)\n"
    assert k(f"create {line}") == f"{made} created\n"
    assert k.refused(f"create {line}").endswith(refused)
    assert k(f"get {made} -o name") == f"{made}\n"
    assert k(f"delete {made}") == f'{made.partition("/")[0]} "{name}" deleted from {k.namespace} namespace\n'


def test_create_creates_cluster_scoped_kinds(kubectl):
    output = kubectl("create clusterrole looker --verb=get --resource=nodes")
    assert output == "clusterrole.rbac.authorization.k8s.io/looker created\n"
    output = kubectl("create clusterrolebinding lookers --clusterrole=looker --group=people")
    assert output == "clusterrolebinding.rbac.authorization.k8s.io/lookers created\n"
    output = kubectl("create priorityclass urgent --value=10 --description='Before others.'")
    assert output == "priorityclass.scheduling.k8s.io/urgent created\n"
    assert ageless(kubectl("get priorityclass urgent")) == (
        "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY\nurgent 10 false AGE PreemptLowerPriority"
    )
    assert kubectl("create namespace fresh") == "namespace/fresh created\n"
    assert ageless(kubectl("get namespace fresh")) == "NAME STATUS AGE\nfresh Active AGE"


def test_created_objects_have_the_given_values(k):
    k("create configmap plain --from-literal=a=1 --from-literal=b=two")
    assert k.json("get configmap plain")["data"] == {"a": "1", "b": "two"}
    k("create secret generic token --from-literal=key=value")
    created = k.json("get secret token")
    assert (created["data"], created["type"]) == ({"key": "dmFsdWU="}, "Opaque")
    k("create cronjob nightly --image=busybox --schedule='0 3 * * *' -- echo hi")
    k("create job now --from=cronjob/nightly")
    created = k.json("get job now")
    assert created["metadata"]["annotations"] == {"cronjob.kubernetes.io/instantiate": "manual"}
    assert created["metadata"]["ownerReferences"][0]["name"] == "nightly"
    assert created["spec"]["template"]["spec"]["containers"][0]["command"] == ["echo", "hi"]
    k("create role reader --verb=get,list --resource=pods,jobs.batch")
    assert k.json("get role reader")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list"]},
    ]


def test_a_job_gets_the_selector_and_labels_by_which_its_pods_are_found(k):
    k("create job hello --image=busybox -- echo hi")
    created = k.json("get job hello")
    uid = created["metadata"]["uid"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "hello",
        "controller-uid": uid,
        "job-name": "hello",
    }
    assert created["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert created["spec"]["template"]["metadata"]["labels"] == labels
    assert created["metadata"]["labels"] == labels
    assert {
        name: created["spec"][name] for name in ("backoffLimit", "completions", "parallelism", "suspend")
    } == {"backoffLimit": 6, "completions": 1, "parallelism": 1, "suspend": False}


def test_run_creates_a_pod_or_only_prints_it_in_a_dry_run(k):
    line = "run once --image=busybox --restart=Never"
    assert k(f"{line} --dry-run=server") == "pod/once created (server dry run)\n"
    assert k.refused("get pod once") == 'Error from server (NotFound): pods "once" not found\n'
    assert k(line) == "pod/once created\n"
    assert ageless(k("get pods")) == "NAME READY STATUS RESTARTS AGE\nonce 0/1 Pending 0 AGE"
    assert ageless(k("get pods -o wide")) == (
        "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES\n"
        "once 0/1 Pending 0 AGE <none> <none> <none> <none>"
    )
    created = k.json("get pod once")
    assert (created["spec"]["serviceAccountName"], created["status"]["qosClass"]) == ("default", "BestEffort")


def test_a_custom_object_takes_merge_and_json_patches_and_no_strategic_ones(run):
    shown = "toolrun.tools.proompteng.ai/greet"
    merge = patch("toolrun greet", {"spec": {"suspend": True}}, "--type=merge")
    assert run(merge) == f"{shown} patched\n"
    assert run(merge) == f"{shown} patched (no change)\n"
    remove = [{"op": "remove", "path": "/spec/suspend"}]
    assert run(patch("toolrun greet", remove, "--type=json")) == f"{shown} patched\n"
    assert run.json("get toolrun greet")["spec"] == {"toolRef": {"name": "greet"}}
    assert run.json("get toolrun greet")["metadata"]["generation"] == 3
    assert run.refused(patch("toolrun greet", {}, "--type=strategic")) == (
        "error: application/strategic-merge-patch+json is not supported by tools.proompteng.ai/v1alpha1, Kind=ToolRun: "
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml\n"
    )


def test_an_invalid_patch_is_rejected(run):
    ran = run.run(patch("toolrun greet", {"spec": {"suspended": True}}, "--type=merge"))
    assert (ran.code, ran.err) == (0, 'Warning: unknown field "spec.suspended"\n')
    assert ran.out == "toolrun.tools.proompteng.ai/greet patched (no change)\n"
    wrong = run.refused(patch("toolrun greet", {"spec": {"suspend": "maybe"}}, "--type=merge"))
    assert wrong == (
        'The ToolRun "greet" is invalid: \n* spec.suspend: Invalid value: "string": spec.suspend in body must be of '
        'type boolean: "string"\n* <nil>: Invalid value: null: some validation rules were not checked because the '
        "object was invalid; correct the existing errors to complete validation\n"
    )
    missing = [{"op": "remove", "path": "/spec/nothing"}]
    assert (
        run.refused(patch("toolrun greet", missing, "--type=json"))
        == "The request is invalid: the server rejected our request due to an error in our request\n"
    )
    assert run.refused(patch("toolrun nobody", {}, "--type=merge")) == (
        'Error from server (NotFound): toolruns.tools.proompteng.ai "nobody" not found\n'
    )


def test_our_own_rule_is_reported_with_our_message(run):
    output = run.refused(patch("toolrun greet", {"spec": {"toolRef": {"name": "other"}}}, "--type=merge"))
    assert output.startswith('The ToolRun "greet" is invalid: spec: Invalid value')
    assert "is immutable" in output


def test_a_strategic_patch_merges_lists_by_their_keys(k):
    k("create deployment web --image=nginx")
    containers = [{"name": "side", "image": "busybox"}]
    assert k(patch("deployment web", {"spec": {"template": {"spec": {"containers": containers}}}})) == (
        "deployment.apps/web patched\n"
    )
    images = "get deployment web -o jsonpath='{.spec.template.spec.containers[*].image}'"
    assert k(images) == "busybox nginx"
    gone = [{"name": "side", "$patch": "delete"}]
    k(patch("deployment web", {"spec": {"template": {"spec": {"containers": gone}}}}))
    assert k(images) == "nginx"
    assert k("set image deployment/web nginx=nginx:2") == "deployment.apps/web image updated\n"
    assert k(images) == "nginx:2"


def test_status_is_written_only_through_its_subresource(run):
    body = {"status": {"phase": "Running"}, "spec": {"suspend": True}}
    run(patch("toolrun greet", body, "--type=merge", "--subresource=status"))
    created = run.json("get toolrun greet")
    assert created["status"] == {"phase": "Running"}
    assert created["spec"] == {"toolRef": {"name": "greet"}}
    assert created["metadata"]["generation"] == 1
    run(patch("toolrun greet", {"status": {"phase": "Failed"}}, "--type=merge"))
    assert run.json("get toolrun greet --subresource=status")["status"] == {"phase": "Running"}


def test_labels_and_annotations_are_set_changed_and_removed(run):
    shown = "toolrun.tools.proompteng.ai/greet"
    assert run("label toolrun greet team=blue") == f"{shown} labeled\n"
    assert run("label toolrun greet team=blue") == f"{shown} not labeled\n"
    assert run.refused("label toolrun greet team=red") == (
        "error: 'team' already has a value (blue), and --overwrite is false\n"
    )
    assert run("label toolrun greet team=red --overwrite") == f"{shown} labeled\n"
    assert run("label toolrun greet team-") == f"{shown} unlabeled\n"
    assert run("annotate toolrun greet note='some words'") == f"{shown} annotated\n"
    assert run.json("get toolrun greet")["metadata"]["annotations"] == {"note": "some words"}
    assert run("label toolruns --all all=yes") == f"{shown} labeled\n"
    assert run.json("get toolrun greet")["metadata"]["generation"] == 1


def test_an_invalid_label_is_rejected(run):
    body = {"metadata": {"labels": {"team": "not a label"}}}
    output = run.refused(patch("toolrun greet", body, "--type=merge"))
    assert output == (
        'The ToolRun "greet" is invalid: metadata.labels: Invalid value: "not a label": a valid label must be an empty '
        "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
        "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
    )


def test_replace_accepts_the_newest_version_and_rejects_others(run):
    old = run.json("get toolrun greet")
    new = run.json("get toolrun greet")
    new["spec"]["suspend"] = True
    assert run("replace -f -", new) == "toolrun.tools.proompteng.ai/greet replaced\n"
    assert run.json("get toolrun greet")["metadata"]["generation"] == 2
    assert run.refused("replace -f -", old) == (
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on '
        'toolruns.tools.proompteng.ai "greet": the object has been modified; please apply your changes to the latest '
        "version and try again\n"
    )
    first = run.json("get toolrun greet")["metadata"]["uid"]
    assert run("replace --force -f -", TOOL_RUN) == (
        f'toolrun.tools.proompteng.ai "greet" deleted from {run.namespace} namespace\n'
        "toolrun.tools.proompteng.ai/greet replaced\n"
    )
    assert run.json("get toolrun greet")["metadata"]["uid"] != first


def test_a_generated_name_is_returned(k):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "many-"}}
    names = {k("create -f - -o name", body) for _ in range(3)}
    assert len(names) == 3
    assert all(
        name.startswith("configmap/many-") and len(name.strip()) == len("configmap/many-") + 5
        for name in names
    )


def test_scale_and_rollout_read_stored_objects(k):
    k("create deployment web --image=nginx --replicas=2")
    assert k.json("get deployment web")["spec"]["replicas"] == 2
    assert ageless(k("get deployments")) == "NAME READY UP-TO-DATE AVAILABLE AGE\nweb 0/2 0 0 AGE"
    k(patch("deployment web", {"spec": {"replicas": 1}}))
    assert k.json("get deployment web")["metadata"]["generation"] == 2
