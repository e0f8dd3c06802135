"""Log tails of work, stored in the data directory after its pod is deleted (GC-6) and never in objects.

Values of the Secrets that the pod references are redacted; a tail that cannot be redacted is not stored.
"""

import asyncio
import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from jangar.controllers.kept_logs import KeptLogs
from jangar.store.rows import LogPart
from kubekit.cache.object_cache import Cache
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import PODS, SECRETS
from kubekit.client.errors import Ambiguous, ApiError, NotFound, NotSent, TooManyRequests
from kubekit.redaction import Redactor

OnKept: TypeAlias = Callable[[str, str, bool], None]
"""Called with the namespace and uid of a child whose tail was stored, and whether it is one of several Jobs."""

TAIL_LINES: Final = 1000
TAIL_BYTES: Final = 256 * 1024
READ_BYTES: Final = 4 * 1024 * 1024
CUT: Final = b"... earlier lines are not kept: of a log the last 1,000 lines are, at most 256 KiB of them\n"
_TIDY_INTERVAL_SECONDS: Final = 3600.0


def cut_tail(tail: bytes, *, is_cut: bool) -> bytes:
    """The last lines within TAIL_BYTES, after a line that says so if lines are missing."""
    if len(tail) > TAIL_BYTES:
        end = tail[-TAIL_BYTES:]
        _, line_end, rest = end.partition(b"\n")
        tail, is_cut = rest if line_end and rest else end, True
    return CUT + tail if is_cut else tail


class LogTails:
    """Reads logs of pods and stores their tails in the files of `KeptLogs`."""

    def __init__(
        self,
        client: Client,
        directory: Path,
        now: Callable[[], datetime],
        *,
        pods: Cache | None = None,
        on_kept: OnKept = lambda _namespace, _uid, _is_part: None,
    ) -> None:
        """`pods` are read for the Secrets that they reference; without them, nothing is redacted."""
        self._client = client
        self._now = now
        self._pods = pods
        self.files = KeptLogs(directory)
        self.on_kept = on_kept

    async def keep(
        self, *, namespace: str, uid: str, pod: str, container: str, job: str = "", title: str = ""
    ) -> None:
        """Store the tail; with a title, as that of one of several Jobs. If a log cannot be read, the reason is stored,
        unless the API server itself is unreachable.
        """
        try:
            tail, is_cut = await self._tail(namespace, pod, container)
            secrets = await self._secrets(namespace, pod)
            tail = cut_tail(await asyncio.to_thread(redact_tail, tail, secrets), is_cut=is_cut)
        except (NotSent, Ambiguous, TooManyRequests):
            raise
        except ApiError as error:
            tail = f"(no log: {error.message})\n".encode()
        if is_part := bool(title):
            keep_one = partial(self.files.keep_one, job=job, title=title, content=tail)
            await asyncio.to_thread(keep_one, namespace, uid)
        else:
            await asyncio.to_thread(self.files.keep, namespace, uid, tail)
        self.on_kept(namespace, uid, is_part)

    async def _tail(self, namespace: str, pod: str, container: str) -> tuple[bytes, bool]:
        """The last lines, and whether there are more. The API applies the byte limit to the first lines, so a response
        that reaches it is requested again with fewer lines.
        """
        lines, tail = TAIL_LINES, b""
        while lines:
            tail = await self._client.logs(
                pod, namespace, container=container, tail_lines=lines + 1, limit_bytes=READ_BYTES
            )
            if len(tail) < READ_BYTES:
                whole = tail.splitlines(keepends=True)
                return b"".join(whole[-lines:]), len(whole) > lines or lines < TAIL_LINES
            lines //= 10
        return tail, True

    async def read(self, namespace: str, uid: str) -> str | None:
        """The stored tails; None if there are none."""
        content = await asyncio.to_thread(self.files.read, namespace, uid)
        return content.decode(errors="replace") if content is not None else None

    async def parts(self, namespace: str, uid: str) -> list[LogPart]:
        """The tails of several Jobs, the oldest first."""
        parts = await asyncio.to_thread(self.files.parts, namespace, uid)
        return [LogPart(job=job, text=text.decode(errors="replace")) for job, text in parts]

    async def _secrets(self, namespace: str, pod: str) -> list[bytes]:
        """The values to redact. Raises ApiError if they cannot be read anymore."""
        if self._pods is None:
            return []
        values: list[bytes] = []
        for name, is_optional in referenced_secrets(await self._pod(self._pods, namespace, pod)):
            try:
                values += secret_values(await self._client.get(SECRETS, name, namespace))
            except NotFound:
                if not is_optional:
                    raise
        return values

    async def _pod(self, pods: Cache, namespace: str, name: str) -> Obj:
        cached = pods.get(namespace, name)
        return cached.view if cached is not None else await self._client.get(PODS, name, namespace)

    async def tidy(self, keep: timedelta) -> None:
        """Delete older tails once an hour, until cancelled."""
        while True:
            await asyncio.to_thread(self.files.delete_older, self._now() - keep)
            await asyncio.sleep(_TIDY_INTERVAL_SECONDS)


class SecretReference(NamedTuple):
    """A Secret that a pod gets."""

    name: str
    is_optional: bool


def referenced_secrets(pod: Mapping[str, Any]) -> list[SecretReference]:
    """The Secrets that the pod's containers get as variables or files."""
    optional: dict[str, bool] = {}
    for name, is_optional in _references(pod.get("spec") or {}):
        optional[name] = optional.get(name, True) and is_optional
    return [SecretReference(*item) for item in optional.items()]


def _references(spec: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for variable in container.get("env") or ():
            yield from _named((variable.get("valueFrom") or {}).get("secretKeyRef"))
        for source in container.get("envFrom") or ():
            yield from _named(source.get("secretRef"))
    for volume in spec.get("volumes") or ():
        yield from _named(volume.get("secret"), "secretName")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _named(source.get("secret"))


def _named(reference: Mapping[str, Any] | None, key: str = "name") -> Iterator[tuple[str, bool]]:
    if reference and reference.get(key):
        yield reference[key], bool(reference.get("optional"))


def secret_values(secret: Mapping[str, Any]) -> list[bytes]:
    """The decoded values of the Secret."""
    return [base64.b64decode(item) for item in (secret.get("data") or {}).values()]


def redact_tail(text: bytes, values: Iterable[bytes]) -> bytes:
    """The text with every value redacted, in the encodings that programs use.

    A tail may begin within a value, and a text that was cut may end within one; those parts are redacted too.
    """
    return Redactor(values).redact_cut(text)
