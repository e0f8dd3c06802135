"""HTTP as the API server speaks it: uvicorn's, but a method that HTTP does not know is refused as Kubernetes does."""

import sys

from httptools import HttpParserInvalidMethodError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from jangar.apiserver.dispatch import refusal
from jangar.apiserver.errors import method_not_allowed


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    def _unsupported_upgrade_warning(self) -> None:
        """Clients ask for a stream before they fall back to others; the answer tells them enough."""

    def send_400_response(self, msg: str) -> None:
        # Called while the error of the parser is handled, which alone tells what was wrong.
        if not isinstance(sys.exception(), HttpParserInvalidMethodError):
            super().send_400_response(msg)
            return
        answer = refusal(method_not_allowed())
        head = (
            f"HTTP/1.1 {answer.status} Method Not Allowed\r\ncontent-type: {answer.content_type}\r\n"
            f"content-length: {len(answer.body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + answer.body)
        self.transport.close()
