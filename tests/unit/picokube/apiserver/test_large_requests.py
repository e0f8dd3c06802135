"""E2: a large object is changed outside the event loop, and each change sees the one before it."""

import asyncio
import threading

from picokube.apiserver.objects.context import key_of
from picokube.apiserver.objects.object_store import INLINE_UPDATE, update
from unit.picokube.apiserver.small_server import OPTIONS, a_definition, a_part, a_server, a_version

OPEN = {"type": "object", "additionalProperties": {"type": "string"}}


def test_changes_of_a_large_object_run_in_threads_one_after_another():
    threads = set()

    def adding(name):
        def mutation(old):
            threads.add(threading.current_thread().name)
            old["spec"]["a"][name] = "x"
            return old, False

        return mutation

    async def main():
        async with a_server() as server:
            await server.define(a_definition(versions=[a_version(a=OPEN)]))
            large = {f"field-{n}": "x" * 100 for n in range(INLINE_UPDATE // 100)}
            await server.make(a_part("large", a=large))
            await server.make(a_part("small", a={}))
            kind = server.kind()

            def change(name, mutation):
                return update(server.serving, kind, key_of(kind, None, name), mutation, OPTIONS)

            changing = [asyncio.create_task(change("large", adding(f"new-{n}"))) for n in range(3)]
            await change("small", adding("new"))
            ended_first = [item.done() for item in changing]
            await asyncio.gather(*changing)
            fields = (await change("large", adding("last"))).object["spec"]["a"]
            return ended_first, fields

    ended_first, fields = asyncio.run(main())
    assert ended_first == [False] * 3
    assert {"new-0", "new-1", "new-2", "last"} < fields.keys()
    assert threads == {"evaluation", "MainThread"}
