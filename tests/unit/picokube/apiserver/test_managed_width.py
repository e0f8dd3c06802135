"""Of very wide objects no field managers are kept: tracking would hold the server at every write (E2)."""

from unit.picokube.apiserver.small_server import GROUP, a_definition, a_version, in_a_server


@in_a_server
async def test_a_wide_object_is_written_without_managed_fields(server):
    """40,000 keys took half a second at each write; 9,000 are still tracked."""
    version = a_version(config={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    await server.define(a_definition(versions=[version]))
    for name, keys, expected in (("wide", 20_000, False), ("narrow", 4_500, True)):
        spec = {"config": {f"k{n}": {"x": n} for n in range(keys)}}
        written = {"apiVersion": f"{GROUP}/v1", "kind": "Part", "metadata": {"name": name}, "spec": spec}
        made = await server.make(written)
        assert ("managedFields" in made["metadata"]) is expected
