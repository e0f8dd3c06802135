"""From the bytes of a pipe to lines that may be shown: whole, masked, and none longer than 64 KiB. Pure."""

from collections.abc import Callable

from jangar.runner.masking import Mask

MAX_LENGTH = 64 * 1024


class Lines:
    """Holds at most one unfinished line; a longer one goes out in pieces, each ended as a line."""

    def __init__(self, mask: Mask, heard: Callable[[bytes | None], None] | None = None) -> None:
        """`heard` gets each line as it was written, and None for one of more than 64 KiB."""
        self._mask, self._heard = mask, heard
        self._rest = b""
        self._is_cut = False
        """Whether pieces of the unfinished line went out already."""

    def take(self, data: bytes) -> bytes:
        """What may be shown now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        shown = b"".join(map(self._whole, lines))
        # A value that has begun and not ended is within the last bytes: those stay here.
        while len(self._rest) >= MAX_LENGTH + self._mask.longest:
            self._rest = self._mask.data(self._rest)
            if len(self._rest) < MAX_LENGTH + self._mask.longest:
                break
            shown += self._rest[:MAX_LENGTH] + b"\n"
            self._rest, self._is_cut = self._rest[MAX_LENGTH:], True
        return shown

    def end(self) -> bytes:
        """What is left when no more comes."""
        rest, self._rest = self._rest, b""
        return self._whole(rest) if rest else b""

    def _whole(self, line: bytes) -> bytes:
        if self._heard is not None:
            self._heard(line if not self._is_cut and len(line) <= MAX_LENGTH else None)
        self._is_cut = False
        masked = self._mask.data(line)
        if len(masked) <= MAX_LENGTH:
            return masked + b"\n"
        return b"".join(masked[at : at + MAX_LENGTH] + b"\n" for at in range(0, len(masked), MAX_LENGTH))
