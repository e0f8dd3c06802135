"""The HTTP API of a `jangar up`, called with the token of its owner."""

import json

from e2e.laptop_process import LaptopProcess
from support import control_plane_client


class LaptopClient(control_plane_client.ControlPlaneClient):
    """Client for one laptop."""

    def __init__(self, laptop: LaptopProcess) -> None:
        instance = json.loads((laptop.data / "laptop.json").read_text())
        super().__init__(instance["url"], (laptop.data / "page-token").read_text().strip())
