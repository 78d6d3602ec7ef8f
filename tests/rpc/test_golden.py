"""The bytes on the wire, written by hand: a client of any age must be able to rely on them."""

from __future__ import annotations

import pytest

from reflexion_client import wire
from reflexion_client.errors import NotFound

PING = bytes.fromhex("94 00 01 a470696e67 91 80")
ENQUEUE = bytes.fromhex(
    "94 00 07 a7656e7175657565"  # [0, 7, "enqueue",
    "91 82 a47461736b a56275696c64"  # [{"task": "build",
    "a76f7574636f6d65 a84552524f523a2078"  # "outcome": "ERROR: x"}]]
)
RESULT = bytes.fromhex("94 01 07 c0 82 a26964 a430313233 a76f7574636f6d65 a86163636570746564")
ERROR = bytes.fromhex("94 01 ceffffffff 93 a96e6f745f666f756e64 a66e6f206a6f62 81 a16e 02 c0")
NOTIFICATION = bytes.fromhex("93 02 a46e6f7465 91 81 a16e c3")

MESSAGES = {
    PING: wire.Request(1, "ping", {}),
    ENQUEUE: wire.Request(7, "enqueue", {"task": "build", "outcome": "ERROR: x"}),
    RESULT: wire.Response(7, None, {"id": "0123", "outcome": "accepted"}),
    ERROR: wire.Response(2**32 - 1, ["not_found", "no job", {"n": 2}], None),
    NOTIFICATION: wire.Notification("note", {"n": True}),
}


@pytest.mark.parametrize("data", MESSAGES)
def test_bytes_are_read_as_the_message(data: bytes) -> None:
    """Each hand-written message is read as what it is."""
    assert [MESSAGES[data]] == list(wire.Decoder().feed(data))


def test_messages_are_written_as_the_bytes() -> None:
    """What we write is, byte for byte, the hand-written message."""
    assert PING == wire.encode_request(1, "ping", {})
    assert ENQUEUE == wire.encode_request(7, "enqueue", {"task": "build", "outcome": "ERROR: x"})
    assert RESULT == wire.encode_result(7, {"id": "0123", "outcome": "accepted"})
    assert ERROR == wire.encode_error(2**32 - 1, NotFound("no job", {"n": 2}))


def test_an_error_without_data_carries_an_empty_map() -> None:
    """The error array always has three parts."""
    expected = bytes.fromhex("94 01 00 93 a96e6f745f666f756e64 a66e6f206a6f62 80 c0")
    assert expected == wire.encode_error(0, NotFound("no job"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("94 00 01 c40470696e67 91 80", wire.Request(1, "ping", {})),  # the method as bin
        ("94 00 01 a470696e67 90", wire.Request(1, "ping", {})),  # params []
        ("94 00 01 a470696e67 81 a16e 01", wire.Request(1, "ping", {"n": 1})),  # a bare map
        ("94 00 01 a470696e67 91 81 c4016e 01", wire.Request(1, "ping", {"n": 1})),  # a bin key
        ("93 02 c4026869 90", wire.Notification("hi", {})),
        (  # the longest forms
            "dc0004 00 cf00000000ffffffff d90470696e67 dd00000001 df00000000",
            wire.Request(2**32 - 1, "ping", {}),
        ),
    ],
)
def test_other_spellings_mean_the_same(data: str, expected: wire.Message) -> None:
    """Forms that other libraries write are understood as well."""
    assert [expected] == list(wire.Decoder().feed(bytes.fromhex(data)))
