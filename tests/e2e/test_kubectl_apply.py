"""kubectl apply and diff: client-side, server-side, migration between both, and the product's examples."""

import pytest

from e2e.kubectl_command import EXAMPLES, ageless, in_own_namespace, on

kubectl = on("embedded", "real")
k = in_own_namespace()

APPLIED_LAST = "kubectl.kubernetes.io/last-applied-configuration"


def config_map(name="settings", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def tool_run(name="greet", **spec):
    return {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "ToolRun",
        "metadata": {"name": name},
        "spec": {"toolRef": {"name": "greet"}, **spec},
    }


def job(image="busybox", **spec):
    container = {"name": "main", "image": image, "command": ["true"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"suspend": True, "template": template, **spec},
    }


def deployment(**containers):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{"name": name, "image": image} for name, image in containers.items()]
                },
            },
        },
    }


def managers(k, what):
    entries = k.json(f"get {what} --show-managed-fields")["metadata"]["managedFields"]
    return sorted((item["manager"], item["operation"]) for item in entries)


@pytest.mark.parametrize(
    ("shown", "first", "second"),
    [
        pytest.param("configmap/settings", config_map(color="red"), config_map(color="blue"), id="built-in"),
        pytest.param("toolrun.tools.proompteng.ai/greet", tool_run(), tool_run(suspend=True), id="custom"),
        pytest.param("job.batch/work", job(), job(suspend=False), id="job"),
        pytest.param(
            "deployment.apps/web", deployment(a="one"), deployment(a="one", b="two"), id="deployment"
        ),
    ],
)
def test_apply_reports_created_configured_and_unchanged(k, shown, first, second):
    assert k("apply -f -", first) == f"{shown} created\n"
    assert k("apply -f -", first) == f"{shown} unchanged\n"
    assert k("apply -f - --dry-run=server", second) == f"{shown} configured (server dry run)\n"
    assert k("apply -f -", first) == f"{shown} unchanged\n"
    assert k("apply -f -", second) == f"{shown} configured\n"
    assert k("apply -f -", second) == f"{shown} unchanged\n"


def test_apply_removes_fields_that_left_the_manifest(k):
    k("apply -f -", config_map(a="1", b="2"))
    k('patch configmap settings --type=merge -p \'{"data":{"theirs":"3"}}\'')
    k("apply -f -", config_map(b="2"))
    assert k.json("get configmap settings")["data"] == {"b": "2", "theirs": "3"}


def test_apply_merges_containers_by_name(k):
    k("apply -f -", deployment(a="one", b="two"))
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"three"}]}}}}'
    k(f"patch deployment web -p '{patch}'")
    k("apply -f -", deployment(a="one-and-a-half"))
    containers = k.json("get deployment web")["spec"]["template"]["spec"]["containers"]
    assert {item["name"]: item["image"] for item in containers} == {"sidecar": "three", "a": "one-and-a-half"}


def test_the_last_applied_configuration_can_be_viewed_and_set(k):
    k("apply -f -", config_map(color="red"))
    assert k("apply view-last-applied configmap settings -o json") == (
        '{\n  "apiVersion": "v1",\n  "data": {\n    "color": "red"\n  },\n  "kind": "ConfigMap",\n'
        '  "metadata": {\n    "annotations": {},\n    "name": "settings",\n'
        f'    "namespace": "{k.namespace}"\n  }}\n}}\n'
    )
    assert k("apply set-last-applied -f -", config_map(color="blue")) == "configmap/settings configured\n"
    assert k.json("get configmap settings")["data"] == {"color": "red"}


def test_an_object_that_was_created_can_be_applied_with_a_warning(k):
    k("create -f -", config_map(color="red"))
    ran = k.run("apply -f -", config_map(color="blue"))
    assert ran.out == "configmap/settings configured\n"
    assert ran.err.startswith(
        f"Warning: resource configmaps/settings is missing the {APPLIED_LAST} annotation which is required"
    )


@pytest.mark.parametrize(
    ("body", "output"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dat": {}},
            'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled '
            'as a ConfigMap: strict decoding error: unknown field "dat"\n',
            id="built-in-unknown-field",
        ),
        pytest.param(
            tool_run("x", oops=1),
            'Error from server (BadRequest): error when creating "STDIN": ToolRun in version "v1alpha1" cannot be '
            'handled as a ToolRun: strict decoding error: unknown field "spec.oops"\n',
            id="custom-unknown-field",
        ),
        pytest.param(
            tool_run("x", toolRef={}),
            'The ToolRun "x" is invalid: \n* spec.toolRef.name: Required value\n* <nil>: Invalid value: null: some '
            "validation rules were not checked because the object was invalid; correct the existing errors to complete "
            "validation\n",
            id="custom-required",
        ),
        pytest.param(
            config_map("Not_A_Name"),
            'The ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": a lowercase RFC 1123 '
            "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')\n",
            id="name",
        ),
    ],
)
def test_apply_is_rejected_with_the_messages_of_kubernetes(k, body, output):
    assert k.refused("apply -f -", body) == output


def test_apply_in_a_missing_namespace_is_rejected(kubectl):
    assert kubectl.within("nowhere").refused("apply -f -", config_map()) == (
        'Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found\n'
    )


def test_diff_shows_what_apply_would_do(k):
    new = k.run("diff -f -", config_map(color="red"))
    assert new.code == 1
    assert "+  color: red\n+kind: ConfigMap\n" in new.out
    k("apply -f -", config_map(color="red"))
    assert k("diff -f -", config_map(color="red")) == ""
    changed = k.run("diff -f -", config_map(color="blue"))
    assert changed.code == 1
    assert changed.out.splitlines()[3:] == [
        "@@ -1,6 +1,6 @@",
        " apiVersion: v1",
        " data:",
        "-  color: red",
        "+  color: blue",
        " kind: ConfigMap",
        " metadata:",
        "   annotations:",
    ]
    assert k.json("get configmap settings")["data"] == {"color": "red"}


def test_diff_on_the_server_shows_what_server_side_apply_would_do(k):
    k("apply --server-side -f -", tool_run())
    assert k("diff --server-side -f -", tool_run()) == ""
    changed = k.run("diff --server-side -f -", tool_run(suspend=True))
    assert changed.code == 1
    assert [line for line in changed.out.splitlines()[3:] if line[0] in "+-"] == [
        "-  generation: 1",
        "+  generation: 2",
        "+  suspend: true",
    ]


def test_server_side_apply_names_conflicts_and_takes_ownership_when_forced(k):
    output = "configmap/settings serverside-applied\n"
    assert k("apply --server-side -f -", config_map(color="red")) == output
    assert k("apply --server-side --field-manager=ci -f -", config_map(color="red")) == output
    assert managers(k, "configmap settings") == [("ci", "Apply"), ("kubectl", "Apply")]
    assert k.refused("apply --server-side --field-manager=ci -f -", config_map(color="blue")) == (
        'error: Apply failed with 1 conflict: conflict with "kubectl": .data.color\n'
        "Please review the fields above--they currently have other managers. Here\n"
        "are the ways you can resolve this warning:\n"
        "* If you intend to manage all of these fields, please re-run the apply\n"
        "  command with the `--force-conflicts` flag.\n"
        "* If you do not intend to manage all of the fields, please edit your\n"
        "  manifest to remove references to the fields that should keep their\n"
        "  current managers.\n"
        "* You may co-own fields by updating your manifest to match the existing\n"
        "  value; in this case, you'll become the manager if the other manager(s)\n"
        "  stop managing the field (remove it from their configuration).\n"
        "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts\n"
    )
    forced = k("apply --server-side --field-manager=ci --force-conflicts -f -", config_map(color="blue"))
    assert forced == output
    assert managers(k, "configmap settings") == [("ci", "Apply")]
    assert k.json("get configmap settings")["data"] == {"color": "blue"}


def test_server_side_apply_drops_the_fields_that_its_manager_no_longer_names(k):
    k("apply --server-side -f -", tool_run(suspend=True, timeoutSeconds=5))
    k('patch toolrun greet --type=merge -p \'{"spec":{"ttlSecondsAfterFinished":60}}\'')
    k("apply --server-side -f -", tool_run(timeoutSeconds=5))
    assert k.json("get toolrun greet")["spec"] == {
        "toolRef": {"name": "greet"},
        "timeoutSeconds": 5,
        "ttlSecondsAfterFinished": 60,
    }


def test_server_side_apply_merges_containers_by_name(k):
    k("apply --server-side -f -", deployment(a="one"))
    k("apply --server-side --field-manager=mesh -f -", deployment(sidecar="two"))
    containers = k.json("get deployment web")["spec"]["template"]["spec"]["containers"]
    assert [(item["name"], item["image"]) for item in containers] == [("a", "one"), ("sidecar", "two")]
    k("apply --server-side -f -", deployment(b="three"))
    containers = k.json("get deployment web")["spec"]["template"]["spec"]["containers"]
    assert sorted(item["name"] for item in containers) == ["b", "sidecar"]


def test_an_object_moves_from_client_side_to_server_side_apply(k):
    k("apply -f -", config_map(color="red", size="small"))
    assert managers(k, "configmap settings") == [("kubectl-client-side-apply", "Update")]
    k("apply --server-side -f -", config_map(color="blue", size="small"))
    assert managers(k, "configmap settings") == [("kubectl", "Apply"), ("kubectl-last-applied", "Apply")]
    # The new manager owns the fields of the former one: leaving a field out removes it.
    k("apply --server-side -f -", config_map(color="blue"))
    assert k.json("get configmap settings")["data"] == {"color": "blue"}
    kept = k("apply view-last-applied configmap settings -o json")
    assert '"color": "blue"' in kept


def test_apply_prunes_what_left_the_set(k):
    both = [config_map("one", a="1"), config_map("two", a="1")]
    for item in both:
        item["metadata"]["labels"] = {"set": "mine"}
    k("apply -f - --prune -l set=mine --prune-allowlist=core/v1/ConfigMap", both)
    output = k("apply -f - --prune -l set=mine --prune-allowlist=core/v1/ConfigMap", both[:1])
    assert output == "configmap/one unchanged\nconfigmap/two pruned\n"


def test_a_list_is_applied_item_by_item(k):
    both = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [config_map("one", a="1"), tool_run("two")],
    }
    assert k("apply -f -", both) == "configmap/one created\ntoolrun.tools.proompteng.ai/two created\n"
    assert k("apply -f -", both) == "configmap/one unchanged\ntoolrun.tools.proompteng.ai/two unchanged\n"


def test_every_example_of_the_product_is_applied_and_unchanged_the_second_time(k):
    files = sorted(EXAMPLES.glob("*.yaml"))
    created = k(f"apply -f {EXAMPLES}").splitlines()
    assert len(created) == len(files) > 0
    assert all(line.endswith(" created") for line in created)
    again = k(f"apply -f {EXAMPLES}").splitlines()
    assert again == [line.replace(" created", " unchanged") for line in created]
    applied = k(f"apply --server-side -f {EXAMPLES}").splitlines()
    assert applied == [line.replace(" created", " serverside-applied") for line in created]


def test_our_columns_are_shown(k):
    k(f"apply -f {EXAMPLES}")
    k(
        "patch toolrun greet-world --subresource=status --type=merge "
        '-p \'{"status":{"phase":"Running","reason":"Started","message":"It runs."}}\''
    )
    assert ageless(k("get toolruns")) == (
        "NAME PHASE TOOL REASON FINISHED AGE\ngreet-world Running greet Started AGE"
    )
    assert ageless(k("get toolruns -o wide")) == (
        "NAME PHASE TOOL REASON FINISHED AGE MESSAGE STARTED EXPIRES\n"
        "greet-world Running greet Started AGE It runs."
    )
    assert ageless(k("get agentruns")) == (
        "NAME PHASE AGENT REASON FINISHED AGE\n"
        "review-branch-main sample-agent AGE\n"
        "workflow-loop-conditional smoke-agent AGE\n"
        "workflow-loop-fixed smoke-agent AGE\n"
        "workflow-smoke smoke-agent AGE"
    )
    assert ageless(k("get orchestrations,tools")) == (
        "NAME PHASE READY STEPS AGE\n"
        "orchestration.orchestration.proompteng.ai/diamond AGE\n"
        "orchestration.orchestration.proompteng.ai/greet-twice AGE\n"
        "orchestration.orchestration.proompteng.ai/reviewed-release AGE\n"
        "\n"
        "NAME PHASE READY IMAGE AGE\n"
        "tool.tools.proompteng.ai/greet busybox:1.37 AGE"
    )
