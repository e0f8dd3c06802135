"""Polls /livez every 50 ms from outside until its input ends. Prints the slowest responses as JSON.

Uses only the standard library: it starts fast and costs little. Each sample has the delay of this process's own
wake-up, which on an overloaded machine explains a slow response.
"""

import http.client
import json
import select
import ssl
import sys
import time
from urllib.parse import urlsplit

EVERY = 0.05


def connection(address, authority):
    parts = urlsplit(address)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(
            parts.netloc, context=ssl.create_default_context(cafile=authority), timeout=30
        )
    return http.client.HTTPConnection(parts.netloc, timeout=30)


def main(authority, *addresses):
    open_connections = {address: connection(address, authority) for address in addresses}
    samples = []
    sent = failed = 0
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
        late = time.monotonic() - due
        due = max(due + EVERY, time.monotonic())
        for address, item in open_connections.items():
            began = time.monotonic()
            sent += 1
            try:
                item.request("GET", urlsplit(address).path)
                answer = item.getresponse()
                answer.read()
                failed += answer.status != http.HTTPStatus.OK
            except (OSError, http.client.HTTPException):
                failed += 1
                open_connections[address] = connection(address, authority)
            samples.append(
                (round(time.monotonic() - began, 4), round(late, 4), address, round(time.time(), 2))
            )
            samples = sorted(samples, reverse=True)[:40] if len(samples) > 4_000 else samples
    samples.sort(reverse=True)
    sys.stdout.write(json.dumps({"asked": sent, "failed": failed, "slowest": samples[:20]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
