"""Who is at the other end of a Unix socket."""

from __future__ import annotations

import os
import socket
import struct
import sys


def is_trusted(peer: socket.socket) -> bool:
    """Return whether the peer runs as this user, or as root.

    Linux tells by SO_PEERCRED, macOS and the BSDs by LOCAL_PEERCRED.
    """
    if sys.platform == "linux":
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack(
            "3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        )
    else:
        sol_local, local_peercred = 0, 1
        _, uid = struct.unpack_from("Ii", peer.getsockopt(sol_local, local_peercred, 76))
    return uid in {0, os.getuid()}
