"""Who is trusted at the other end of a socket."""

from __future__ import annotations

import os
import socket

import pytest

from reflexiond.platform import peers


def test_the_same_user_is_trusted() -> None:
    """A process of our own user may talk to us."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with here, there:
        assert peers.is_trusted(here)
        assert peers.is_trusted(there)


def test_a_socket_that_cannot_tell_is_an_error() -> None:
    """A socket without a known peer is never taken for a trusted one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with listener:
        try:
            trusted = peers.is_trusted(listener)
        except OSError:
            return
    assert not trusted or os.getuid() == -1


__all__ = ["pytest"]
