"""The built page: up to date with its sources, small, and without external resources."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "src" / "jangar" / "server" / "web"
HEAVIEST = 350 * 1000


def test_the_built_page_is_that_of_the_sources():
    """After a change of the sources the page must be built (make web)."""
    now = subprocess.check_output([sys.executable, ROOT / "scripts" / "web-fingerprint"], text=True)
    assert (BUILT / "sources.sha256").read_text() == now, "web/ has changed: make web, and commit the result"


def test_the_page_is_light():
    """At most 350 kB over the wire in total."""
    files = [path for path in BUILT.rglob("*.*") if path.suffix != ".sha256"]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= HEAVIEST


def test_the_page_loads_nothing_from_elsewhere():
    """It works without the internet, and reports users to no other site."""
    page = (BUILT / "index.html").read_text()
    assert re.findall(r'(?:src|href)="(?!/assets/)[^"]*"', page) == []
