"""What is said about one object: kind, metadata, schema and graph, all at once and each once."""

import pytest
from lint_cases import HEAD, linted, reasons, reported

from jangar.lint.finding import Severity

TOOL = """\
apiVersion: tools.proompteng.ai/v1alpha1
kind: Tool
metadata: {name: make}
spec: {image: make, command: [make]}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "foo: bar\n", ["1:1 : not a Kubernetes object: apiVersion and kind are missing"], id="no-object"
        ),
        pytest.param("- a\n", ["1:1 : expected an object with apiVersion and kind, found a list"], id="list"),
        pytest.param(
            "just text\n", ["1:1 : expected an object with apiVersion and kind, found text"], id="text"
        ),
        pytest.param("apiVersion: v1\n", ["1:1 : kind is missing"], id="no-kind"),
        pytest.param(
            "apiVersion: 1\nkind: Tool\n", ["1:1 apiVersion: must be text, found a number"], id="number"
        ),
        pytest.param(
            "kind: Tool\n",
            ["1:1 : apiVersion is missing (write apiVersion: tools.proompteng.ai/v1alpha1)"],
            id="our-kind-without-version",
        ),
        pytest.param(
            "apiVersion: tools.proompteng.ai/v1\nkind: Tool\n",
            [
                (
                    '1:1 apiVersion: there is no Tool in apiVersion "tools.proompteng.ai/v1" '
                    "(write apiVersion: tools.proompteng.ai/v1alpha1)"
                )
            ],
            id="version-not-served",
        ),
        pytest.param(
            "apiVersion: tools.proompteng.io/v1alpha1\nkind: Tool\n",
            [
                (
                    '1:1 apiVersion: unknown apiVersion "tools.proompteng.io/v1alpha1" of Tool '
                    "(write apiVersion: tools.proompteng.ai/v1alpha1)"
                )
            ],
            id="group-nearly-ours",
        ),
        pytest.param(
            "apiVersion: orchestration.proompteng.ai/v1alpha1\nkind: Orchestraton\n",
            [
                (
                    '2:1 kind: unknown kind "Orchestraton" in apiVersion "orchestration.proompteng.ai/v1alpha1" '
                    '(did you mean "Orchestration"?)'
                )
            ],
            id="kind-misspelt",
        ),
    ],
)
def test_what_is_not_an_object_of_ours_is_reported(text, expected):
    assert reported(linted(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: v1\nkind: ConfigMap\n", id="core"),
        pytest.param("apiVersion: velero.io/v1\nkind: Schedule\n", id="same-kind-of-another-group"),
    ],
)
def test_objects_of_others_are_counted_and_passed_over(text):
    report = linted(text)
    assert (report.findings, report.others, len(report.objects)) == ((), 1, 0)


@pytest.mark.parametrize(
    "text", ["foo: bar\n", "- a\n", "apiVersion: v2\nname: agents\n"], ids=["values", "list", "chart"]
)
def test_files_found_in_a_directory_need_not_be_manifests(text):
    assert linted(text, named=False).findings == ()


def test_items_of_a_list_are_objects_with_their_own_fields():
    report = linted(
        """\
        apiVersion: v1
        kind: List
        items:
        - apiVersion: tools.proompteng.ai/v1alpha1
          kind: Tool
          metadata: {name: make}
          spec: {image: 5, image: 6, command: [make]}
        - apiVersion: v1
          kind: Secret
        """
    )
    assert (len(report.objects), report.others) == (1, 1)
    assert reported(report) == [
        '7:20 spec.image: duplicate key "image", first on line 7 (keep one of the two)'
    ]
    assert [(finding.kind, finding.name) for finding in report.findings] == [("Tool", "make")]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param("{}", "3:1 metadata: the object has no name (add metadata.name)", id="no-name"),
        pytest.param(
            "{name: ''}", "3:12 metadata.name: the name is empty (give the object a name)", id="empty"
        ),
        pytest.param("[]", "3:1 metadata: must be an object (write metadata: {name: ...})", id="list"),
        pytest.param("{name: 5}", "3:12 metadata.name: must be text (quote it to make it text)", id="number"),
        pytest.param(
            "{name: Nightly}", '3:12 metadata.name: "Nightly" cannot be a name (use lower-case', id="upper"
        ),
        pytest.param(
            f"{{name: {'a' * 254}}}", "cannot be a name: 254 characters are more than 253", id="too-long"
        ),
        pytest.param(
            "{generateName: -x-}", '3:12 metadata.generateName: "-x-" cannot begin a name', id="prefix"
        ),
        pytest.param(
            "{name: a, namespace: a.b}", '3:21 metadata.namespace: "a.b" cannot be a namespace', id="space"
        ),
        pytest.param(
            "{name: a, lables: {}}",
            '3:21 metadata.lables: unknown field "lables" (did you mean "labels"?)',
            id="unknown-field",
        ),
        pytest.param(
            "{name: a, labels: {a: 5}}", "3:30 metadata.labels.a: the value must be text", id="label"
        ),
        pytest.param("{name: a, labels: {a: 'x y'}}", '"x y" cannot be a label\'s value', id="label-value"),
        pytest.param("{name: a, annotations: {'a b': x}}", '"a b" cannot be a key of annotations', id="key"),
    ],
)
def test_metadata_is_checked_as_the_api_server_does(metadata, expected):
    text = TOOL.replace("{name: make}", metadata)
    (found,) = reported(linted(text))
    assert expected in found


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param("{generateName: nightly-}", id="generated-name"),
        pytest.param(
            "{name: a.b-c, namespace: x, labels: {app.kubernetes.io/name: A_b, empty: ''}}", id="labels"
        ),
        pytest.param(
            "{name: a, annotations: {x/y: 'any text ☃'}, finalizers: [x/y], uid: u}", id="stored-object"
        ),
    ],
)
def test_good_metadata_is_no_problem(metadata):
    assert reported(linted(TOOL.replace("{name: make}", metadata))) == []


@pytest.mark.rule("DAG-2")
def test_all_problems_of_a_definition_are_reported_at_once_with_their_places():
    report = linted(
        HEAD
        + """\
spec:
  entrypoint: biuld
  steps:
    - name: build
      kind: ToolRun
      toolRef: {name: make}
      dependson: []
      with: {flag: on}
    - name: test
      kind: ToolRn
      dependsOn: [biuld, deploy]
      timeoutSeconds: "5"
    - name: deploy
      kind: ToolRun
      toolRef: {name: make}
      dependsOn: [test]
"""
    )
    assert reported(report) == [
        '5:3 spec.entrypoint: entrypoint "biuld" is not a step (did you mean "build"?)',
        '10:7 spec.steps[0].dependson: unknown field "dependson" (did you mean "dependsOn"?)',
        "11:14 spec.steps[0].with.flag: must be of type string, found boolean (quote it to make it text)",
        '13:7 spec.steps[1].kind: kind "ToolRn" is not supported (did you mean "ToolRun"?)',
        (
            "14:7 spec.steps[1].dependsOn: dependency cycle: test -> deploy -> test "
            "(remove one of these dependencies)"
        ),
        '14:19 spec.steps[1].dependsOn[0]: depends on "biuld", which does not exist (did you mean "build"?)',
        "15:7 spec.steps[1].timeoutSeconds: must be of type integer, found string (write it without quotes)",
    ]
    assert {(finding.kind, finding.name) for finding in report.findings} == {("Orchestration", "nightly")}
    assert report.findings[3].step == "test"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param("5", ["4:8 spec.steps: must be of type array, found integer"], id="steps-is-a-number"),
        pytest.param("[]", ["4:8 spec.steps: there are no steps (add at least one step)"], id="no-steps"),
        pytest.param(
            "[7, {name: a, kind: ToolRun, toolRef: {name: t}, dependsOn: [x]}]",
            [
                "4:16 spec.steps[0]: must be of type object, found integer",
                "4:76 spec.steps[1].dependsOn[0]: depends",
            ],
            id="a-step-is-a-number",
        ),
        pytest.param(
            "[{kind: ToolRun, toolRef: {name: t}}]",
            ["4:16 spec.steps[0].name: the step has no name (give it a name)"],
            id="a-missing-name-is-reported-once",
        ),
        pytest.param(
            "[{name: 5, kind: ToolRun, toolRef: {name: t}}]",
            ["4:17 spec.steps[0].name: must be of type string, found integer (quote it to make it text)"],
            id="a-number-for-a-name-is-reported-once",
        ),
        pytest.param(
            "[{name: a, kind: ToolRun, toolRef: {name: t}}, {name: a, kind: ToolRun, toolRef: {name: t}}]",
            [
                '4:63 spec.steps[1].name: steps[0] and steps[1] are both named "a" (give each step its own name)'
            ],
            id="two-of-a-name",
        ),
        pytest.param(
            "[{name: a, kind: ToolRun, toolRef: {name: t}, with: {x: {{ parameters.y }}}}]",
            [
                (
                    "4:72 spec.steps[0].with.x: a mapping or list cannot be a key "
                    '(quote a template: "{{ parameters.name }}")'
                )
            ],
            id="a-bare-template-is-reported-once",
        ),
        pytest.param(
            "[{name: a, kind: ToolRun, toolRef: {name: t}, when: 'parameters.x =='}]",
            ["4:61 spec.steps[0].when: not a condition: "],
            id="a-condition-that-does-not-compile",
        ),
    ],
)
def test_a_wrong_type_neither_hides_nor_doubles_other_problems(steps, expected):
    found = reported(linted(f"{HEAD}spec: {{steps: {steps}}}\n"))
    assert len(found) == len(expected)
    assert all(one.startswith(other) for one, other in zip(found, expected, strict=True)), found


def test_rules_of_the_schema_are_run():
    text = """\
        apiVersion: orchestration.proompteng.ai/v1alpha1
        kind: OrchestrationRun
        metadata: {name: once}
        spec: {}
        """
    assert reported(linted(text)) == [
        "4:1 spec: Invalid value: exactly one of orchestrationRef and orchestration must be set"
    ]


def test_a_run_that_holds_its_definition_is_checked_like_one():
    text = """\
        apiVersion: orchestration.proompteng.ai/v1alpha1
        kind: OrchestrationRun
        metadata: {name: once}
        spec:
          parameters: {evn: prod}
          orchestration:
            parameters: [{name: env, enum: [dev]}]
            steps:
            - {name: a, kind: ToolRun, toolRef: {name: t}, dependsOn: [b]}
        """
    assert reported(linted(text)) == [
        '5:16 spec.parameters.evn: parameter "evn" is not declared by the orchestration (did you mean "env"?)',
        (
            '9:64 spec.orchestration.steps[0].dependsOn[0]: depends on "b", which does not exist '
            "(name a step of this orchestration)"
        ),
    ]


def test_very_long_values_are_shortened():
    report = linted(
        f"{HEAD}spec: {{steps: [{{name: a, kind: ToolRun, toolRef: {{name: t}}}}], "
        f"policies: {{maxParallel: '{'9' * 9000}'}}}}\n"
    )
    assert len(report.findings) == 1
    assert len(report.findings[0].message) < 600


def test_order_is_that_of_files_and_lines():
    report = linted(TOOL.replace("make}", "A}") + "---\nfoo: 1\n", "bar: 1\n")
    assert [(finding.file, finding.position.line) for finding in report.findings] == [
        ("a.yaml", 3),
        ("a.yaml", 6),
        ("b.yaml", 1),
    ]
    assert {finding.severity for finding in report.findings} == {Severity.ERROR}
    assert reasons(report) == ["InvalidMetadata", "NotAnObject", "NotAnObject"]
