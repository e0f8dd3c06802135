"""kubectl's reads: get in every format, describe with events, explain, discovery, auth and raw paths."""

import json

import pytest

from e2e.kubectl_command import ageless, in_new_namespace, on

pytestmark = pytest.mark.rule("RUN-2")

kubectl = on("embedded", "real")

MAPS = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"tier": tier, "app": "shop"}},
        "data": {"size": size},
    }
    for name, tier, size in (("apple", "front", "3"), ("bread", "back", "1"), ("cheese", "back", "2"))
]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "worker"},
    "spec": {"containers": [{"name": "main", "image": "busybox"}, {"name": "side", "image": "busybox"}]},
}


@pytest.fixture(scope="module")
def k(kubectl):
    """One namespace that every test of this module only reads."""
    k = in_new_namespace(kubectl)
    k("create -f -", [*MAPS, POD])
    k("create job hello --image=busybox -- echo hi")
    return k


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param(
            "-l app=shop -o name", "configmap/apple\nconfigmap/bread\nconfigmap/cheese\n", id="name"
        ),
        pytest.param("-l tier=back -o name", "configmap/bread\nconfigmap/cheese\n", id="label"),
        pytest.param("-l 'app,tier!=back' -o name", "configmap/apple\n", id="label-not"),
        pytest.param("-l 'tier in (front,side)' -o name", "configmap/apple\n", id="label-in"),
        pytest.param("--field-selector=metadata.name=bread -o name", "configmap/bread\n", id="field"),
        pytest.param("apple bread -o name", "configmap/apple\nconfigmap/bread\n", id="names"),
        pytest.param("apple -o jsonpath='{.data.size}'", "3", id="jsonpath"),
        pytest.param(
            "-l app=shop -o jsonpath='{range .items[*]}{.metadata.name}={.data.size}{\"\\n\"}{end}'",
            "apple=3\nbread=1\ncheese=2\n",
            id="jsonpath-range",
        ),
        pytest.param(
            "-l app=shop -o custom-columns=NAME:.metadata.name,SIZE:.data.size,NONE:.data.nothing",
            "NAME     SIZE   NONE\napple    3      <none>\nbread    1      <none>\ncheese   2      <none>\n",
            id="custom-columns",
        ),
        pytest.param(
            "-l app=shop -o go-template='{{range .items}}{{.metadata.name}} {{end}}'",
            "apple bread cheese ",
            id="go-template",
        ),
        pytest.param(
            "-l app=shop --sort-by=.data.size -o name",
            "configmap/bread\nconfigmap/cheese\nconfigmap/apple\n",
            id="sort-by",
        ),
        pytest.param("-l app=nothing -o name", "", id="nothing"),
        pytest.param(
            "--chunk-size=1 -l app=shop -o name",
            "configmap/apple\nconfigmap/bread\nconfigmap/cheese\n",
            id="chunks",
        ),
    ],
)
def test_get_configmaps(k, line, shown):
    assert k(f"get configmaps {line}") == shown


def test_get_prints_tables(k):
    assert ageless(k("get configmaps -l app=shop")) == (
        "NAME DATA AGE\napple 1 AGE\nbread 1 AGE\ncheese 1 AGE"
    )
    assert ageless(k("get configmaps -l app=shop --no-headers --sort-by=.data.size")) == (
        "bread 1 AGE\ncheese 1 AGE\napple 1 AGE"
    )
    assert ageless(k("get configmaps apple -L tier --show-labels")) == (
        "NAME DATA AGE TIER LABELS\napple 1 AGE front app=shop,tier=front"
    )
    assert ageless(k("get jobs")) == "NAME STATUS COMPLETIONS DURATION AGE\nhello Running 0/1 AGE"
    assert ageless(k("get jobs -o wide")).partition("batch.kubernetes.io")[0] == (
        "NAME STATUS COMPLETIONS DURATION AGE CONTAINERS IMAGES SELECTOR\nhello Running 0/1 AGE hello busybox "
    )


def test_get_of_several_kinds_names_each(k):
    assert ageless(k("get configmaps,pods,jobs")) == (
        "NAME DATA AGE\nconfigmap/apple 1 AGE\nconfigmap/bread 1 AGE\nconfigmap/cheese 1 AGE\n"
        "configmap/kube-root-ca.crt 1 AGE\n\n"
        "NAME READY STATUS RESTARTS AGE\npod/worker 0/2 Pending 0 AGE\n\n"
        "NAME STATUS COMPLETIONS DURATION AGE\njob.batch/hello Running 0/1 AGE"
    )
    assert k("get configmap/apple pod/worker -o name") == "configmap/apple\npod/worker\n"
    assert k("get all -o name") == "pod/worker\njob.batch/hello\n"
    assert (
        k("get toolruns,configmaps -l app=shop -o name")
        == "configmap/apple\nconfigmap/bread\nconfigmap/cheese\n"
    )


def test_get_over_all_namespaces_shows_them(k):
    assert ageless(k("get pods -A --field-selector=metadata.name=worker")) == (
        f"NAMESPACE NAME READY STATUS RESTARTS AGE\n{k.namespace} worker 0/2 Pending 0 AGE"
    )
    result = k.json("get configmaps -A -l app=shop")
    assert [item["metadata"]["name"] for item in result["items"]] == ["apple", "bread", "cheese"]


def test_get_finds_pods_by_their_phase_and_node(k):
    assert k("get pods --field-selector=status.phase=Pending -o name") == "pod/worker\n"
    assert k("get pods --field-selector=status.phase!=Pending -o name") == ""
    assert k("get pods --field-selector=spec.nodeName= -o name") == "pod/worker\n"


def test_get_prints_the_whole_object(k):
    result = k.json("get configmap apple")
    assert (result["apiVersion"], result["kind"], result["data"]) == ("v1", "ConfigMap", {"size": "3"})
    assert sorted(result["metadata"]) == [
        "creationTimestamp",
        "labels",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ]
    meta = result["metadata"]
    assert k("get configmap apple -o yaml") == (
        'apiVersion: v1\ndata:\n  size: "3"\nkind: ConfigMap\nmetadata:\n'
        f'  creationTimestamp: "{meta["creationTimestamp"]}"\n'
        "  labels:\n    app: shop\n    tier: front\n  name: apple\n"
        f'  namespace: {k.namespace}\n  resourceVersion: "{meta["resourceVersion"]}"\n  uid: {meta["uid"]}\n'
    )
    listed = k.json("get configmaps -l app=shop")
    assert (listed["kind"], listed["apiVersion"], len(listed["items"])) == ("List", "v1", 3)
    assert listed["items"][0] == result
    managed = k.json("get configmap apple --show-managed-fields")["metadata"]["managedFields"]
    assert [(item["manager"], item["operation"], item["fieldsV1"]) for item in managed] == [
        (
            "kubectl-create",
            "Update",
            {
                "f:data": {".": {}, "f:size": {}},
                "f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:tier": {}}},
            },
        )
    ]


@pytest.mark.parametrize(
    ("line", "output"),
    [
        pytest.param("nosuch", 'error: the server doesn\'t have a resource type "nosuch"\n', id="kind"),
        pytest.param(
            "configmap nobody", 'Error from server (NotFound): configmaps "nobody" not found\n', id="name"
        ),
        pytest.param(
            "toolrun nobody",
            'Error from server (NotFound): toolruns.tools.proompteng.ai "nobody" not found\n',
            id="custom-name",
        ),
        pytest.param(
            "configmaps -l 'a in (b'",
            'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector '
            "\"a in (b\", field selector \"\": unable to parse requirement: found '', expected: ',' or ')'\n",
            id="selector",
        ),
        pytest.param(
            "configmaps --field-selector=data.x=1",
            'Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", '
            'field selector "data.x=1": "data.x" is not a known field selector: only "metadata.name", '
            '"metadata.namespace"\n',
            id="field",
        ),
        pytest.param(
            "toolruns --field-selector=spec.nothing=1",
            'Error from server (BadRequest): Unable to find "tools.proompteng.ai/v1alpha1, Resource=toolruns" that '
            'match label selector "", field selector "spec.nothing=1": field label not supported: spec.nothing\n',
            id="custom-field",
        ),
    ],
)
def test_get_is_rejected(k, line, output):
    assert k.refused(f"get {line}") == output


def test_an_empty_result_is_reported(k):
    ran = k.run("get toolruns")
    assert (ran.code, ran.out, ran.err) == (0, "", f"No resources found in {k.namespace} namespace.\n")


def an_event(k, pod):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "worker.1"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "worker",
            "namespace": k.namespace,
            "uid": pod["metadata"]["uid"],
        },
        "reason": "Scheduled",
        "message": "It has a place.",
        "type": "Normal",
        "source": {"component": "test"},
        "firstTimestamp": "2026-02-07T12:00:00Z",
        "lastTimestamp": "2026-02-07T12:00:00Z",
        "count": 1,
    }


def test_describe_shows_events(k):
    k("create -f -", an_event(k, k.json("get pod worker")))
    shown = k("describe pod worker")
    assert shown.startswith(
        f"Name:             worker\nNamespace:        {k.namespace}\nPriority:         0\n"
    )
    assert "  main:\n    Image:        busybox\n" in shown
    events = shown.partition("Events:")[2].splitlines()
    assert events[1].split() == ["Type", "Reason", "Age", "From", "Message"]
    assert events[3].split()[:2] == ["Normal", "Scheduled"]
    assert events[3].endswith("test  It has a place.")
    assert k("get events --field-selector=involvedObject.name=worker -o name") == "event/worker.1\n"
    assert k("get events.v1.events.k8s.io -o name") == "event.events.k8s.io/worker.1\n"
    listed = ageless(k("events --for=pod/worker"))
    assert listed.splitlines()[0] == "LAST SEEN TYPE REASON OBJECT MESSAGE"
    assert listed.endswith("Normal Scheduled Pod/worker It has a place.")


def test_describe_of_other_kinds(k):
    assert k("describe configmap apple") == (
        f"Name:         apple\nNamespace:    {k.namespace}\nLabels:       app=shop\n              tier=front\n"
        "Annotations:  <none>\n\nData\n====\nsize:\n----\n3\n\n\nBinaryData\n====\n\nEvents:  <none>\n"
    )
    shown = k("describe job hello")
    assert "Pods Statuses:    0 Active / 0 Succeeded / 0 Failed\n" in shown
    assert "Completion Mode:  NonIndexed\nSuspend:          false\nBackoff Limit:    6\n" in shown
    shown = k(f"describe namespace {k.namespace}")
    assert f"Name:         {k.namespace}\nLabels:       kubernetes.io/metadata.name={k.namespace}\n" in shown


def test_describe_of_our_kinds(k):
    k(
        "create -f -",
        {
            "apiVersion": "tools.proompteng.ai/v1alpha1",
            "kind": "ToolRun",
            "metadata": {"name": "described"},
            "spec": {"toolRef": {"name": "greet"}},
        },
    )
    shown = k("describe toolrun described")
    assert shown.startswith(f"Name:         described\nNamespace:    {k.namespace}\nLabels:       <none>\n")
    assert "Spec:\n  Tool Ref:\n    Name:  greet\nEvents:    <none>\n" in shown
    k("delete toolrun described")


def test_explain_describes_our_kinds(k):
    assert k("explain toolrun.spec.onJobMissing") == (
        "GROUP:      tools.proompteng.ai\nKIND:       ToolRun\nVERSION:    v1alpha1\n\n"
        "FIELD: onJobMissing <string>\nENUM:\n    Fail\n    Retry\n\n"
        "DESCRIPTION:\n    What to do if the Job disappears without a recorded result: Fail (default),\n"
        "    or Retry, which may run the work a second time.\n    \n\n"
    )
    shown = k("explain toolrun.spec")
    assert "  toolRef\t<Object> -required-\n    The Tool to run.\n" in shown
    assert "  enum: Running, Cancelled\n" in shown
    assert "  metadata\t<ObjectMeta>\n" in k("explain toolrun")
    recursive = k("explain toolrun --recursive")
    assert "    toolRef\t<Object> -required-\n      name\t<string> -required-\n" in recursive
    assert "    managedFields\t<[]ManagedFieldsEntry>\n      apiVersion\t<string>\n" in recursive


def test_explain_describes_built_in_kinds(k):
    shown = k("explain job.spec")
    assert shown.startswith(
        "GROUP:      batch\nKIND:       Job\nVERSION:    v1\n\nFIELD: spec <JobSpec>\n\n\nDESCRIPTION:\n    "
        "Specification of the desired behavior of a job. More info:\n"
    )
    assert "  template\t<PodTemplateSpec> -required-\n" in shown
    assert "  enum: Indexed, NonIndexed\n" in shown
    shown = k("explain pod.spec.containers")
    assert shown.startswith("KIND:       Pod\nVERSION:    v1\n\nFIELD: containers <[]Container>\n")
    assert "  name\t<string> -required-\n    Name of the container specified as a DNS_LABEL." in shown
    assert k("explain job.spec.template.spec.containers.name").endswith(
        "FIELD: name <string>\n\n\nDESCRIPTION:\n    Name of the container specified as a DNS_LABEL. Each container in "
        "a pod must\n    have a unique name (DNS_LABEL). Cannot be updated.\n    \n\n"
    )
    assert k.refused("explain job.spec.nothing") == 'error: field "nothing" does not exist\n'


@pytest.mark.parametrize(
    "row",
    [
        "configmaps cm v1 true ConfigMap",
        "events ev v1 true Event",
        "namespaces ns v1 false Namespace",
        "pods po v1 true Pod",
        "secrets v1 true Secret",
        "serviceaccounts sa v1 true ServiceAccount",
        "customresourcedefinitions crd,crds apiextensions.k8s.io/v1 false CustomResourceDefinition",
        "deployments deploy apps/v1 true Deployment",
        "cronjobs cj batch/v1 true CronJob",
        "jobs batch/v1 true Job",
        "leases coordination.k8s.io/v1 true Lease",
        "roles rbac.authorization.k8s.io/v1 true Role",
        "selfsubjectaccessreviews authorization.k8s.io/v1 false SelfSubjectAccessReview",
        "toolruns tr tools.proompteng.ai/v1alpha1 true ToolRun",
    ],
)
def test_api_resources_lists(k, row):
    assert row in ageless(k("api-resources")).splitlines()


def test_the_category_lists_every_kind_and_agents_lists_agents(kubectl):
    """B15: `kubectl get jangar` and `kubectl get agents` are not the same."""
    k = in_new_namespace(kubectl)
    agent = {"apiVersion": "agents.proompteng.ai/v1alpha1", "kind": "Agent", "metadata": {"name": "one"}}
    tool = {"apiVersion": "tools.proompteng.ai/v1alpha1", "kind": "Tool", "metadata": {"name": "two"}}
    k("apply -f -", {**agent, "spec": {"providerRef": {"name": "p"}}})
    k("apply -f -", {**tool, "spec": {"image": "any", "command": ["true"]}})
    assert set(k("get agents -o name").split()) == {"agent.agents.proompteng.ai/one"}
    assert set(k("get jangar -o name").split()) >= {
        "agent.agents.proompteng.ai/one",
        "tool.tools.proompteng.ai/two",
    }


def test_api_resources_shows_verbs_and_categories(k):
    rows = ageless(k("api-resources --api-group=tools.proompteng.ai -o wide")).splitlines()
    verbs = "delete,deletecollection,get,list,patch,create,update,watch"
    assert rows == [
        "NAME SHORTNAMES APIVERSION NAMESPACED KIND VERBS CATEGORIES",
        f"toolruns tr tools.proompteng.ai/v1alpha1 true ToolRun {verbs} jangar",
        f"tools tl tools.proompteng.ai/v1alpha1 true Tool {verbs} jangar",
    ]
    rows = ageless(k("api-resources --api-group=batch -o wide")).splitlines()
    assert rows[1:] == [
        "cronjobs cj batch/v1 true CronJob create,delete,deletecollection,get,list,patch,update,watch all",
        "jobs batch/v1 true Job create,delete,deletecollection,get,list,patch,update,watch all",
    ]


def test_api_versions_lists_groups(k):
    result = set(k("api-versions").split())
    assert {"v1", "apps/v1", "batch/v1", "apiextensions.k8s.io/v1", "tools.proompteng.ai/v1alpha1"} <= result


def test_auth_shows_the_user_and_its_permissions(k):
    assert k("auth can-i create pods") == "yes\n"
    assert k("auth can-i '*' '*'") == "yes\n"
    assert k("auth can-i delete toolruns --subresource=status") == "yes\n"
    who = json.loads(k("auth whoami -o json"))["status"]["userInfo"]
    assert who["groups"] == ["system:masters", "system:authenticated"]
    assert "system:masters" in k("auth whoami")


def test_raw_paths_are_answered(k):
    assert k("get --raw /readyz") == "ok"
    assert k("get --raw /livez") == "ok"
    version = json.loads(k("get --raw /version"))
    assert (version["major"], version["minor"]) == ("1", "35")
    result = json.loads(k(f"get --raw /api/v1/namespaces/{k.namespace}/configmaps/apple"))
    assert result["data"] == {"size": "3"}
    assert k.refused("get --raw /nowhere") == (
        "Error from server (NotFound): the server could not find the requested resource\n"
    )
    posted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw"}}
    path = f"/api/v1/namespaces/{k.namespace}/configmaps"
    assert json.loads(k(f"create --raw {path} -f -", posted))["metadata"]["name"] == "raw"
    assert json.loads(k(f"delete --raw {path}/raw"))["status"] == "Success"


def test_the_server_reports_its_version(k):
    assert k("cluster-info").startswith(f"Kubernetes control plane is running at {k.server.url}\n")
    shown = k("version")
    assert "Server Version: v1.35." in shown
    assert "WARNING" not in shown
