"""A client that sends whatever bytes a test wants, and reads what comes back.

It knows nothing of our own framing: `msgpack` alone reads the answers.
"""

from __future__ import annotations

import socket
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgpack

ANSWER_LIMIT_S = 20.0


def frame(*parts: object) -> bytes:
    """Return the bytes of an array of these parts."""
    packed: bytes = msgpack.packb(parts)
    return packed


def request(request_id: object, method: object, **params: object) -> bytes:
    """Return the bytes of a request with one map of parameters."""
    return frame(0, request_id, method, [params])


class Raw:
    """One connection to a socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_LIMIT_S)
        self._socket.connect(str(path))
        self._unpacker = msgpack.Unpacker()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        self._socket.sendall(data)

    def pour(self, data: bytes) -> int:
        """Send what fits without waiting; return how many bytes that was."""
        sent = 0
        self._socket.setblocking(False)
        try:
            while sent < len(data):
                sent += self._socket.send(data[sent:])
        except BlockingIOError:
            pass
        finally:
            self._socket.settimeout(ANSWER_LIMIT_S)
        return sent

    def read(self) -> Any:
        """Return the next message; None when the daemon has hung up."""
        while True:
            for message in self._unpacker:
                return message
            try:
                data = self._socket.recv(65_536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._unpacker.feed(data)

    def call(self, method: object, request_id: object = 1, **params: object) -> Any:
        """Send one request and return its whole answer `[1, id, error, result]`."""
        self.send(request(request_id, method, **params))
        return self.read()

    def answers(self) -> bool:
        """Return whether a ping is answered here."""
        answer = self.call("ping", 4_000_000)
        return answer is not None and answer[:3] == [1, 4_000_000, None]
