"""Searches everything that a laptop's control plane wrote or returns: rows of databases, compressed objects, files,
HTTP.
"""

import base64
import gzip
import json
import os
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess

_PACKED = re.compile(rb"H4sI[A-Za-z0-9+/=]{20,}")
"""Base64 of gzip."""


def forms(value: str) -> set[bytes]:
    """Encodings of a value in output: plain, escaped, in URLs, in base64, and as a password in basic auth."""
    data = value.encode()
    quoted = {quote(value, safe=""), quote(value), quote_plus(value)}
    lowered = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), item) for item in quoted}
    encodings = {data, json.dumps(value)[1:-1].encode(), *(item.encode() for item in quoted | lowered)}
    for before in (b"", b"x", b"xx"):
        first = (0, 2, 3)[len(before)]
        whole = base64.b64encode(before + data)[first : (len(before) + len(data)) * 8 // 6]
        encodings |= {whole, whole.replace(b"+", b"-").replace(b"/", b"_")}
    return encodings


def written(laptop: LaptopProcess) -> Iterator[tuple[str, bytes]]:
    """Content of the data directory, except Secrets themselves and the volumes that mount them."""
    files = [Path(folder, name) for folder, _, names in os.walk(laptop.data) for name in names]
    for path in sorted(files):
        if path.is_symlink() or not path.is_file():
            continue
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        if content.startswith(b"SQLite format 3"):
            yield from _rows(path)
        elif not path.name.endswith(("-wal", "-shm", "-journal")) and "/pods/" not in str(path):
            yield from _opened(str(path), content)
    yield str(laptop.home / "up.out"), (laptop.home / "up.out").read_bytes()


def answered(http: LaptopClient) -> Iterator[tuple[str, bytes]]:
    """The response of every GET route for every object."""
    paths = [path for path, verbs in http.get("/openapi.json")["paths"].items() if "get" in verbs]
    runs = http.get("/v1/runs?nested=true&limit=200")["items"]
    kinds = [item["name"] for item in http.get("/v1/kinds")["items"]]
    for path in paths:
        if path.endswith("/watch") or path == "/v1/watch":
            continue
        for filled_path in _filled(http, path, runs, kinds):
            answer = http.request("GET", filled_path)
            assert answer.status < 500, (filled_path, answer.body)
            yield filled_path, answer.body


def _filled(http: LaptopClient, path: str, runs: list, kinds: list[str]) -> Iterator[str]:
    if "/kinds/{kind}/{name}" in path:
        for kind in kinds:
            for item in http.get(f"/v1/kinds/{kind}/objects")["items"]:
                meta = item["metadata"]
                yield path.format(kind=kind, namespace=meta["namespace"], name=meta["name"])
    elif "{kind}" in path:
        yield from (path.format(kind=kind) for kind in kinds)
    elif "/runs/{name}" in path:
        for run in runs:
            filled_path = path.format(namespace=run["namespace"], name=run["name"])
            steps = [
                step["name"]
                for step in http.get(f"/v1/namespaces/{run['namespace']}/runs/{run['name']}")["steps"]
            ]
            yield from (f"{filled_path}?step={step}" for step in steps)
            yield filled_path
    elif "{" not in path:
        yield path
    elif "{id}" in path:
        yield from (path.format(id=run["uid"]) for run in runs)


def _rows(path: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            for row in database.execute(f"SELECT * FROM {table}"):  # noqa: S608 - its own names
                reported = dict(zip(columns, row, strict=True))
                if str(reported.get("resource", "")).endswith("secrets"):
                    continue
                for name, value in reported.items():
                    content = value if isinstance(value, bytes) else str(value).encode()
                    yield from _opened(f"{path.name}: {table}.{name} of {reported.get('name')}", content)


def _opened(where: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The content, including compressed parts."""
    yield where, content
    packed = [content] if content.startswith(b"\x1f\x8b") else []
    packed += [base64.b64decode(item + b"=" * (-len(item) % 4)) for item in _PACKED.findall(content)]
    for item in packed:
        try:
            yield f"{where}, unpacked", gzip.decompress(item)
        except (OSError, EOFError, zlib.error):
            continue
