"""What Kubernetes' own libraries answered, recorded: no value, no owner and no message differs.

Not made here, because it needs Go: see `made_with` in each file.
"""

import orjson
import pytest

from picokube.apiserver.apply.json_patch import JsonPatchError, json_patch, merge_patch
from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.apply.server_side import ApplyConflict, ApplyTypeError, server_side_apply
from picokube.apiserver.apply.strategic import StrategicPatchError, strategic_merge
from unit.picokube.apiserver.apply.things import golden, kind

SEQUENCES = golden("apply_sequences.json")
PATCHES = golden("json_and_merge_patches.json")
STRATEGIC = golden("strategic_patches.json")
RESOURCE = kind(SEQUENCES["schema"])


def answered(step, live):
    facts = {name: step[name] for name in ("manager", "subresource", "now")}
    new = step["new"]
    if step["op"] == "apply":
        try:
            return {"object": server_side_apply(RESOURCE, live, new, force=step["force"], **facts)}
        except ApplyConflict as error:
            return {"error": error.message, "causes": sorted(error.causes, key=by_text)}
        except ApplyTypeError as error:
            return {"error": str(error)}
    entries = managed_after_write(RESOURCE, live, new, **facts)
    meta = {name: item for name, item in new["metadata"].items() if name != "managedFields"}
    return {"object": {**new, "metadata": meta | ({"managedFields": entries} if entries else {})}}


def by_text(cause):
    return cause["message"], cause["field"]


def exact(value):
    """Tells 1 from true."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize("number", range(len(SEQUENCES["sequences"])))
def test_writes_and_applies_answer_as_recorded(number):
    """Values, order of items, owners, times and conflicts, step by step."""
    live = None
    for step in SEQUENCES["sequences"][number]:
        live = step.get("live", live)
        given = exact([live, step["new"]])
        assert exact(answered(step, live)) == exact(step["answer"])
        assert exact([live, step["new"]]) == given, "arguments stay as they are"
        live = step["answer"].get("object", live)


@pytest.mark.parametrize("case", PATCHES["json"])
def test_json_patches_answer_as_recorded(case):
    """The result, or that there is none."""
    given = exact(case)
    if "error" in case:
        with pytest.raises(JsonPatchError):
            json_patch(case["target"], case["patch"])
    else:
        assert exact(json_patch(case["target"], case["patch"])) == exact(case["result"])
    assert exact(case) == given


@pytest.mark.parametrize("case", PATCHES["merge"])
def test_merge_patches_answer_as_recorded(case):
    """The result; both arguments stay as they are."""
    given = exact(case)
    assert exact(merge_patch(case["target"], case["patch"])) == exact(case["result"])
    assert exact(case) == given


@pytest.mark.parametrize("case", STRATEGIC["patches"])
def test_strategic_patches_answer_as_recorded(case):
    """The result with the order of its lists, or that there is none."""
    given, schema = exact(case), STRATEGIC["schemas"][case["kind"]]
    if "error" in case:
        with pytest.raises(StrategicPatchError):
            strategic_merge(case["target"], case["patch"], schema)
    else:
        assert exact(strategic_merge(case["target"], case["patch"], schema)) == exact(case["result"])
    assert exact(case) == given
