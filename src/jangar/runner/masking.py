"""Secret values in what the runner writes, replaced by `***`; also in JSON that must stay JSON. Pure."""

import re
from collections.abc import Iterable

import orjson

from kubekit.redaction import MASK, Redactor

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)


class Mask:
    """Knows the values, in every form that `redaction` knows."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(_bytes(secret.strip()) for secret in secrets)
        self.longest = self._redactor.longest
        """Bytes of the longest value."""

    def data(self, data: bytes) -> bytes:
        return self._redactor.redact(data)

    def text(self, text: str) -> str:
        """Also without what is no text: bytes of file names and arguments that nobody can read."""
        return self.data(_bytes(text)).decode("utf-8", "replace")

    def json(self, text: str) -> str:
        """JSON that stays JSON, and else as it was written."""
        return _TOKEN.sub(self._token, text) if self.longest else text

    def _token(self, found: re.Match[str]) -> str:
        token = found.group()
        if not token.startswith('"'):
            return f'"{MASK.decode()}"' if self.text(token) != token else token
        try:
            value = str(orjson.loads(token))
        except orjson.JSONDecodeError:
            return self.text(token)
        masked = self.text(value)
        return token if masked == value else orjson.dumps(masked).decode()


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
