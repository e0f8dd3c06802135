"""One connection of the Kubernetes API: a method that HTTP does not know is refused as Kubernetes does."""

import sys

from httptools import HttpParserInvalidMethodError

from kubekit.serving.http_server import BoundedProtocol
from picokube.apiserver.dispatch import refusal
from picokube.apiserver.errors import method_not_allowed


class KubernetesProtocol(BoundedProtocol):
    """A bounded connection whose refusals are Status objects."""

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
