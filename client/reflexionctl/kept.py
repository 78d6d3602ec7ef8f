"""The copy of a command's output that goes into its report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HEAD_BYTES = 64 * 1024
KEPT_BYTES = 256 * 1024

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"
)


@dataclass(slots=True)
class Kept:
    """The first and the last bytes of a stream.

    Args:
        head_bytes: how much of its beginning is kept.
        tail_bytes: how much of its end is kept.
    """

    head_bytes: int = HEAD_BYTES
    tail_bytes: int = KEPT_BYTES - HEAD_BYTES
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _dropped: int = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        room = self.head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Trimmed only now and then: moving the tail for every small read would be slow.
        if len(self._tail) > 2 * self.tail_bytes:
            self._trim()

    def text(self) -> str:
        """Return what was kept, as a reader would have seen it on a terminal."""
        self._trim()
        gap = f"\n[… {self._dropped} bytes left out …]\n" if self._dropped else ""
        return plain((self._head + gap.encode() + self._tail).decode("utf-8", "replace"))

    def _trim(self) -> None:
        excess = len(self._tail) - self.tail_bytes
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess


def plain(text: str) -> str:
    """Return terminal output without colours, cursor movements and overwritten lines."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines)
