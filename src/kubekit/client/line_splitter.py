"""Splits a stream of chunks into lines."""


class LineSplitter:
    """Buffers an incomplete line until its end arrives. Takes linear time for lines of any length."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without empty ones."""
        end = chunk.rfind(b"\n")
        if end < 0:
            self._pending.append(chunk)
            return []
        self._pending.append(chunk[:end])
        lines = b"".join(self._pending).split(b"\n")
        self._pending = [chunk[end + 1 :]] if end + 1 < len(chunk) else []
        return [line for line in lines if line]
