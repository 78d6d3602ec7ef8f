"""The decoder against every stream of bytes that hypothesis can think of."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion_client import wire
from reflexion_client.errors import ProtocolError, RemoteError

IDS = st.integers(0, wire.MAX_ID)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# Among a million characters, two thousand surrogates would hardly ever be drawn.
LONE = st.integers(0xD800, 0xDFFF).map(chr)
ANY_TEXT = st.lists(TEXT | LONE, max_size=6).map("".join)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
PARAMS = st.dictionaries(TEXT, VALUES, max_size=5)
MESSAGES = (
    st.builds(wire.Request, IDS, TEXT, PARAMS)
    | st.builds(wire.Response, IDS, st.none(), VALUES)
    | st.builds(wire.Notification, TEXT, PARAMS)
)
# Bytes that look like messages more often than blind chance lets them.
HEADS = [0x80, 0x81, 0x90, 0x91, 0x92, 0x93, 0x94, 0xC0, 0xC1, 0xC4, 0xC7, 0xCA, 0xCF, 0xD4, 0xD6]
LIKELY = st.sampled_from([*HEADS, 0xD7, 0xDB, 0xDC, 0xDF, 0x00, 0x01, 0x02, 0xA1, 0xFF])
STREAMS = st.binary(max_size=200) | st.lists(LIKELY, max_size=60).map(bytes)


def encoded(message: wire.Message) -> bytes:
    """Return the bytes of a message."""
    match message:
        case wire.Request(request_id, method, params):
            return wire.encode_request(request_id, method, params)
        case wire.Response(request_id, _, result):
            return wire.encode_result(request_id, result)
        case wire.Notification(method, params):
            packed: bytes = msgpack.packb([2, method, [params]])
            return packed


def outcome(pieces: Iterable[bytes]) -> list[object]:
    """Return what a decoder makes of a stream: its messages, and the error that ended it."""
    decoder = wire.Decoder()
    found: list[object] = []
    try:
        for piece in pieces:
            for message in decoder.feed(piece):
                found.append(message)  # noqa: PERF402 - what came before an error counts
    except ProtocolError as error:
        found.append((type(error), str(error)))
    return found


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut bytes into pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(MESSAGES)
def test_a_message_survives_the_way(message: wire.Message) -> None:
    """What is written is read again, exactly."""
    assert [message] == outcome([encoded(message)])


@given(IDS, st.sampled_from(["not_found", "internal"]), ANY_TEXT, PARAMS)
def test_an_error_survives_the_way(
    request_id: int, code: str, text: str, data: dict[str, Any]
) -> None:
    """An error's code, sentence and data arrive; what is no UTF-8 is marked as such."""
    error = type("Raised", (RemoteError,), {"code": code})(text, data)
    (message,) = outcome([wire.encode_error(request_id, error)])
    expected = [code, readable(text), data]
    assert wire.Response(request_id, expected, None) == message


@given(st.lists(MESSAGES, max_size=6), st.lists(st.integers(0), max_size=8))
def test_how_a_stream_is_cut_changes_nothing(
    messages: list[wire.Message], places: list[int]
) -> None:
    """The pieces in which bytes arrive do not matter."""
    data = b"".join(map(encoded, messages))
    assert messages == outcome(cut(data, places))
    assert messages == outcome(bytes([byte]) for byte in data)


@given(STREAMS, st.lists(st.integers(0), max_size=8))
def test_arbitrary_bytes_are_messages_or_a_protocol_error(data: bytes, places: list[int]) -> None:
    """No bytes raise anything but ProtocolError, and how they are cut changes nothing."""
    assert outcome([data]) == outcome(cut(data, places))


@given(MESSAGES, st.integers(0), st.integers(0, 255))
def test_a_damaged_message_is_a_message_or_a_protocol_error(
    message: wire.Message, place: int, byte: int
) -> None:
    """One wrong byte in a sound message raises nothing but ProtocolError."""
    data = bytearray(encoded(message))
    data[place % len(data)] = byte
    assert outcome([bytes(data)]) == outcome(bytes([piece]) for piece in data)


def readable(text: str) -> str:
    """Return the text with a mark in place of every lone surrogate."""
    return "".join("\N{REPLACEMENT CHARACTER}" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_can_be_sent(method: str, text: str) -> None:
    """Text arrives as it was; only lone surrogates, which are no UTF-8, become U+FFFD."""
    (message,) = outcome([wire.encode_request(1, method, {"task": text, "tasks": [text]})])
    expected = {"task": readable(text), "tasks": [readable(text)]}
    assert wire.Request(1, readable(method), expected) == message


@given(st.binary(max_size=40))
def test_text_that_is_no_utf8_is_still_read(data: bytes) -> None:
    """A string of bad bytes is read with marks in it: reports quote what tools print."""
    frame = b"\x94\x00\x01\xa1m\x91\x81\xa1t\xd9" + bytes([len(data)]) + data
    assert [wire.Request(1, "m", {"t": data.decode("utf-8", "replace")})] == outcome([frame])


@given(st.integers(1, 300), st.integers(-3, 3))
def test_a_frame_is_never_larger_than_the_limit(limit: int, more: int) -> None:
    """A frame of the limit is read, one byte more is refused, whole or cut."""
    data = msgpack.packb([1, 1, None, b"x" * (limit + more)])
    size = len(msgpack.packb([1, 1, None, b"x" * limit]))
    for pieces in ([data], [bytes([byte]) for byte in data]):
        decoder = wire.Decoder(size)
        try:
            read = [message for piece in pieces for message in decoder.feed(piece)]
        except ProtocolError:
            read = []
        assert (len(data) <= size) == (len(read) == 1)


def test_an_unfinished_frame_is_measured_from_its_beginning() -> None:
    """A frame of many small parts is refused before its end, as one of a single part is."""
    parts = b"\xdc\xff\xff" + b"\xa3abc" * 300
    with pytest.raises(ProtocolError, match="larger than 1000 bytes"):
        list(wire.Decoder(1_000).feed(parts))


@pytest.mark.parametrize("value", [[], {}], ids=["arrays", "maps"])
def test_small_values_cannot_fill_the_memory(value: object) -> None:
    """A message of a few hundred kilobytes that would unfold into far more is refused."""
    many = [[value] * 60_000] * (wire.MAX_VALUES // 60_000 + 1)
    data = msgpack.packb([0, 1, "ping", [{"a": many}]])
    assert len(data) < wire.MAX_FRAME_BYTES // 50
    assert [(ProtocolError, f"a frame holds more than {wire.MAX_VALUES} values")] == outcome([data])


def test_values_are_counted_for_each_message() -> None:
    """Many messages may together hold more values than one."""
    data = msgpack.packb([1, 1, None, [0] * 60_000])
    assert 10 == len(outcome([data * 10]))
