"""DAG-3, DAG-14: the definition a run executes, packed."""

import gzip
import json
import zlib
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.domain.orchestration.snapshot import (
    MAX_DECODED_BYTES,
    MAX_ENCODED_BYTES,
    UnreadableSnapshot,
    decode_snapshot,
    encode_snapshot,
    snapshot_hash,
    snapshot_name,
)

SPEC = {"steps": [{"name": "ä", "kind": "Checkpoint"}], "entrypoint": "ä"}
CANONICAL = b'{"entrypoint":"\\u00e4","steps":[{"kind":"Checkpoint","name":"\\u00e4"}]}'

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.rule("DAG-3")
@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_a_snapshot_holds_the_definition_unchanged(spec):
    """DAG-3: what was packed is what is read."""
    assert decode_snapshot(encode_snapshot(spec)) == spec


@pytest.mark.rule("DAG-3")
def test_the_same_definition_gives_the_same_bytes():
    """DAG-3: the order of keys does not matter, and no time is written into the bytes."""
    again = {"entrypoint": "ä", "steps": [{"kind": "Checkpoint", "name": "ä"}]}
    assert encode_snapshot(SPEC) == encode_snapshot(again)
    assert encode_snapshot(SPEC)[4:8] == b"\0\0\0\0"
    assert gzip.decompress(encode_snapshot(SPEC)) == CANONICAL


@pytest.mark.rule("DAG-3")
def test_the_hash_is_of_the_definition_itself():
    """DAG-3: the hash does not depend on how the bytes were compressed."""
    assert snapshot_hash(SPEC) == sha256(CANONICAL).hexdigest()
    assert snapshot_hash(SPEC) != snapshot_hash(SPEC | {"entrypoint": "b"})


@pytest.mark.rule("DAG-3")
def test_only_json_can_be_packed():
    """DAG-3: a number that JSON does not have is refused when written, not when read."""
    with pytest.raises(ValueError, match="Out of range float values"):
        encode_snapshot({"x": float("nan")})


@pytest.mark.rule("DAG-3")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "the snapshot is cut off or has something appended", id="empty"),
        pytest.param(
            b"plain", "not a snapshot: Error -3 while decompressing data: incorrect header check", id="plain"
        ),
        pytest.param(
            zlib.compress(b"{}"),
            "not a snapshot: Error -3 while decompressing data: incorrect header check",
            id="another-format",
        ),
        pytest.param(
            gzip.compress(b"{}")[:-1], "the snapshot is cut off or has something appended", id="cut-off"
        ),
        pytest.param(
            gzip.compress(b"{}") + b"x", "the snapshot is cut off or has something appended", id="appended"
        ),
        pytest.param(gzip.compress(b"[]"), "the snapshot holds no object", id="no-object"),
        pytest.param(gzip.compress(b"{"), "not a snapshot: Expecting property name", id="no-json"),
        pytest.param(gzip.compress(b"\xff"), "not a snapshot: 'utf-8' codec can't decode", id="no-text"),
        pytest.param(gzip.compress(b"[" * 100_000), "not a snapshot: maximum recursion depth", id="deep"),
    ],
)
def test_damaged_bytes_are_reported_as_such(data, message):
    """DAG-3: a run never executes half a definition."""
    with pytest.raises(UnreadableSnapshot) as caught:
        decode_snapshot(data)
    assert str(caught.value).startswith(message)


def packed(size):
    """A definition of exactly so many bytes."""
    return gzip.compress(b'{"a":"' + b"x" * (size - 8) + b'"}', compresslevel=1)


@pytest.mark.rule("DAG-14")
def test_what_unpacks_to_too_much_is_refused():
    """DAG-14: a small object cannot fill the memory."""
    assert MAX_DECODED_BYTES == 32 * 1024 * 1024
    assert (
        len(json.dumps(decode_snapshot(packed(MAX_DECODED_BYTES)), separators=(",", ":")))
        == MAX_DECODED_BYTES
    )
    with pytest.raises(UnreadableSnapshot, match=r"^the snapshot holds more than 33554432 bytes$"):
        decode_snapshot(packed(MAX_DECODED_BYTES + 1))


@pytest.mark.rule("DAG-14")
def test_ten_thousand_steps_fit_into_one_object():
    """DAG-14: compressed, and in base64, a big definition stays below 1 MiB."""
    steps = [
        {
            "name": f"step-{n:05}",
            "kind": "ToolRun",
            "toolRef": {"name": f"tool-{n % 50}"},
            "dependsOn": [f"step-{m:05}" for m in range(max(0, n - 5), n)],
            "with": {"input": f"{{{{ steps.step-{max(0, n - 1):05}.outputs.result }}}}"},
        }
        for n in range(10_000)
    ]
    assert len(encode_snapshot({"steps": steps})) < MAX_ENCODED_BYTES
    assert MAX_ENCODED_BYTES * 4 / 3 < 1000 * 1024


@pytest.mark.rule("DAG-3")
def test_the_name_is_a_function_of_the_run():
    """DAG-3: a second create of the same snapshot collides with the first; another content has another name."""
    name = snapshot_name("nightly", "u", "h1")
    assert name.startswith("nightly-snapshot-")
    assert name == snapshot_name("nightly", "u", "h1")
    assert len({name, snapshot_name("nightly", "u", "h2"), snapshot_name("nightly", "v", "h1")}) == 3
