"""MessagePack-RPC framing: what a message is, how large it may be, how errors look.

Follows the MessagePack-RPC specification: request `[0, id, method, params]`,
response `[1, id, error, result]`, notification `[2, method, params]`. We put one
map into `params`. docs/rpc.md is the page to write another client from.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from typing import Any, TypeVar

import msgpack

from .errors import BadParams, ProtocolError, RemoteError, TooLarge

T = TypeVar("T", bound=Sized)

REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2

PROTOCOL_VERSION = 1
MAX_ID = 2**32 - 1
MAX_REPORT_BYTES = 16 * 1024 * 1024
"""The largest report: task, attempt, outcome and trigger together, as UTF-8."""
MAX_FRAME_BYTES = MAX_REPORT_BYTES + 64 * 1024
MAX_NESTING = 16
MAX_ELEMENTS = 65_536
"""The most elements in one array or map."""
MAX_VALUES = 4 * MAX_ELEMENTS
"""The most elements in all arrays and maps of a message: an empty map is one byte on the wire
and a hundred in memory."""
VALUE_BYTES = 64
"""About what one value takes in memory beside its text."""
READ_BYTES = 64 * 1024
"""How much is fed to the decoder at a time: its buffer never holds more than a frame and this."""


def _replace_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Bytes: the UTF-8 encoder refuses replacement text that is not ASCII.
    return "\N{REPLACEMENT CHARACTER}".encode() * (error.end - error.start), error.end


# A lone surrogate cannot be written as UTF-8. It comes from output that was not
# UTF-8 itself, so the mark for "unreadable" is what a reader should see.
_SURROGATES = "reflexion_client.surrogates"
codecs.register_error(_SURROGATES, _replace_surrogates)


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer."""

    id: int
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to the request of the same id."""

    id: int
    error: object
    result: Any


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants no answer."""

    method: str
    params: dict[str, Any]


class BadRequestShape(ProtocolError):  # noqa: N818 - it carries the id to answer to
    """A message is no valid request, but its id could be read."""

    def __init__(self, message: str, request_id: int) -> None:
        super().__init__(message)
        self.request_id = request_id


Message = Request | Response | Notification


def _pack(message: object) -> bytes:
    # A packer per message: the pure function keeps no state that a failed pack could spoil.
    packed: bytes = msgpack.packb(message, use_bin_type=True, unicode_errors=_SURROGATES)
    return packed


def encode_request(request_id: int, method: str, params: dict[str, Any]) -> bytes:
    """Return the bytes of a request. `request_id` is an unsigned 32-bit number.

    Raises:
        TooLarge: no daemon would read it; sent, it would only break the connection.
        BadParams: a value that MessagePack cannot carry.
    """
    try:
        frame = _pack([REQUEST, request_id, method, [params]])
    except (TypeError, OverflowError) as error:
        raise BadParams(f"{method}: a parameter cannot be sent: {error}") from error
    if len(frame) > MAX_FRAME_BYTES:
        raise TooLarge(
            f"{method}: the message is {len(frame)} bytes, the limit is {MAX_FRAME_BYTES}: "
            "send the end of the output, where the error stands",
            {"limit_bytes": MAX_FRAME_BYTES, "size_bytes": len(frame)},
        )
    return frame


def encode_result(request_id: int, result: object) -> bytes:
    """Return the bytes of a successful response."""
    return _pack([RESPONSE, request_id, None, result])


def encode_error(request_id: int, error: RemoteError) -> bytes:
    """Return the bytes of a failed response; the error travels as `[code, message, data]`."""
    return _pack([RESPONSE, request_id, [error.code, str(error), error.data], None])


class Decoder:
    """Turns a stream of bytes into messages, one connection's worth.

    Args:
        max_frame_bytes: the largest single message that is accepted.

    Attributes:
        weight: about how many bytes the last message keeps in memory.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._unpacker = msgpack.Unpacker(
            raw=False,
            unicode_errors="replace",
            strict_map_key=False,
            max_buffer_size=max_frame_bytes + READ_BYTES,
            max_str_len=max_frame_bytes,
            max_bin_len=max_frame_bytes,
            max_ext_len=0,
            max_array_len=MAX_ELEMENTS,
            max_map_len=MAX_ELEMENTS,
            object_hook=self._count,
            list_hook=self._count,
        )
        self.weight = 0
        self._fed = 0
        self._start = 0
        self._values = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages that `data` completes.

        Raises:
            ProtocolError: the stream is broken; nothing after it can be read.
            BadRequestShape: one message is no valid request, and names its id.
        """
        view = memoryview(data)
        for start in range(0, len(view), READ_BYTES):
            chunk = view[start : start + READ_BYTES]
            self._fed += len(chunk)
            try:
                self._unpacker.feed(chunk)
                for raw in self._unpacker:
                    self._end_frame(self._unpacker.tell())
                    yield _message(raw)
            except ProtocolError:
                raise
            # TypeError: a map whose key is an array or a map.
            except (
                *(ValueError, TypeError, RecursionError),
                msgpack.exceptions.UnpackException,
            ) as error:
                raise ProtocolError(f"broken frame: {error or type(error).__name__}") from error
            # The unpacker's own position is of no use here: it moves within a frame.
            self._check_size(self._fed)

    def _end_frame(self, end: int) -> None:
        self._check_size(end)
        self.weight = end - self._start + VALUE_BYTES * self._values
        self._start = end
        self._values = 0

    def _check_size(self, end: int) -> None:
        if end - self._start > self._max_frame_bytes:
            raise ProtocolError(f"a frame is larger than {self._max_frame_bytes} bytes")

    def _count(self, value: T) -> T:
        self._values += 1 + len(value)
        if self._values > MAX_VALUES:
            raise ProtocolError(f"a frame holds more than {MAX_VALUES} values")
        return value


def _message(raw: object) -> Message:
    match raw:
        case [0, int(request_id), method, params] if _is_id(request_id):
            try:
                return Request(request_id, _method(method), _params(params))
            except ProtocolError as error:
                raise BadRequestShape(str(error), request_id) from error
        case [1, int(request_id), error, result] if _is_id(request_id):
            _check_nesting(result, MAX_NESTING)
            return Response(request_id, error, result)
        case [2, method, params]:
            return Notification(_method(method), _params(params))
        case [0, int(request_id), *_] if _is_id(request_id):
            raise BadRequestShape("a request is [0, id, method, [params]]", request_id)
        case _:
            raise ProtocolError("a message is an array: [0, id, method, [params]] for a request")


def _is_id(value: int) -> bool:
    return not isinstance(value, bool) and 0 <= value <= MAX_ID


def _method(method: object) -> str:
    # Older clients write strings as MessagePack bin.
    if isinstance(method, bytes):
        return method.decode("utf-8", "replace")
    if isinstance(method, str):
        return method
    raise ProtocolError(f"a method name is a string, not {type(method).__name__}")


def _params(params: object) -> dict[str, Any]:
    """Accept one map inside the params array, an empty array, or a bare map."""
    match params:
        case [dict(only)] | dict(only):
            _check_nesting(only, MAX_NESTING)
            if all(type(key) is str for key in only):
                return only
            return {_method(key): value for key, value in only.items()}
        case []:
            return {}
        case list():
            # Positional arguments of foreign clients (nvim's opening notification)
            # cannot be named; the method that looks for names says what is missing.
            _check_nesting(params, MAX_NESTING)
            return {"": params}
        case _:
            raise ProtocolError("params is an array that holds one map")


def _check_nesting(value: object, left: int) -> None:
    if left == 0:
        raise ProtocolError(f"values nest deeper than {MAX_NESTING} levels")
    if isinstance(value, dict):
        for inner in value.values():
            if isinstance(inner, (dict, list)):
                _check_nesting(inner, left - 1)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (dict, list)):
                _check_nesting(inner, left - 1)
