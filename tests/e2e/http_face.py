"""The HTTP API of a `jangar up`, called with the token of its owner."""

import json

from e2e.laptop_process import LaptopProcess
from support import plane_face


class HttpFace(plane_face.HttpFace):
    """Client for one laptop."""

    def __init__(self, laptop: LaptopProcess) -> None:
        found = json.loads((laptop.data / "laptop.json").read_text())
        super().__init__(found["url"], (laptop.data / "page-token").read_text().strip())
