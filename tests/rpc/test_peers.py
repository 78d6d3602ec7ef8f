"""Who is trusted at the other end of a socket."""

from __future__ import annotations

import socket
import sys

import pytest

from reflexiond.platform.peers import is_trusted


def test_the_same_user_is_trusted() -> None:
    """A process of our own user may talk to us."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with here, there:
        assert (True, True) == (is_trusted(here), is_trusted(there))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse to answer at all")
def test_a_peer_that_nobody_knows_is_not_trusted() -> None:
    """A socket whose other end has no user is never taken for one of ours."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stranger:
        assert not is_trusted(stranger)
