"""Records a real server's answers to cases.py into recorded.json.

KUBEBUILDER_ASSETS=... PYTHONPATH=tests .venv/bin/python -m unit.picokube.apiserver.strategies.record [PATTERN]
"""

import fnmatch
import json
import re
import sys
from pathlib import Path
from typing import Any

from support.api_servers import RealApiServer
from unit.picokube.apiserver.strategies.answers import answer
from unit.picokube.apiserver.strategies.cases import CASES

RECORDED = Path(__file__).with_name("recorded.json")
MERGE = {"Content-Type": "application/merge-patch+json"}


def main() -> None:
    pattern = sys.argv[1] if len(sys.argv) > 1 else "*"
    known = {row["name"]: row for row in json.loads(RECORDED.read_text())} if RECORDED.exists() else {}
    names = [case["name"] for case in CASES]
    assert len(names) == len(set(names)), sorted({item for item in names if names.count(item) > 1})
    server = RealApiServer()
    try:
        server.start_controllers(["serviceaccount-controller"])
        client = server.client()
        for case in CASES:
            if (
                case["name"] not in known
                or known[case["name"]]["case"] != case
                or fnmatch.fnmatch(case["name"], pattern)
            ):
                known[case["name"]] = {"name": case["name"], "case": case, "answer": answer_of(client, case)}
    finally:
        server.stop()
    rows = [json.dumps(known[name], sort_keys=True) for name in names]
    RECORDED.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    sys.stdout.write(f"{len(rows)} answers, {RECORDED.stat().st_size} bytes\n")


def answer_of(client: Any, case: dict[str, Any]) -> dict[str, Any]:
    name = case["sent"]["metadata"].get("name", "")
    path = case["path"]
    dry = "" if "then" in case else ("&" if "?" in path else "?") + "dryRun=All"
    found = sent(client, "POST", path + dry, case["sent"])
    if found.status < 300:
        for change in case.get("then", ()):
            place = f"{path}/{name}" + (f"/{change['subresource']}" if "subresource" in change else "")
            found = sent(client, "PATCH", place, change["merge"], MERGE)
            if found.status >= 300:
                break
        if "then" in case:
            client.request(
                "DELETE", f"{path}/{name}?gracePeriodSeconds=0&propagationPolicy=Background", None, {}
            )
    return answer(found.status, found.body, [text(item) for item in found.headers.get_all("Warning") or ()])


def sent(client: Any, method: str, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
    return client.request(
        method, path, json.dumps(body).encode(), headers or {"Content-Type": "application/json"}
    )


def text(header: str) -> str:
    found = re.fullmatch(r'299 - "(.*)"', header)
    return json.loads(f'"{found[1]}"') if found else header


if __name__ == "__main__":
    main()
