"""Where the migrations stand, and the one that the code needs."""

from pathlib import Path
from typing import Final

VERSION_TABLE: Final = "jangar_history_version"
NEWEST: Final = "0002"
FOLDER: Final = Path(__file__).parent
