"""Every error that a caller of this library, or the daemon's peer, can meet.

ReflexionError
├── ConfigError            a setting has a value that we refuse
├── DaemonUnreachable      nobody answers at the socket
│   └── DaemonNotStarted   it was started for the call, and did not come up
├── CallTimeout            no answer within the deadline; the daemon may still have done it
├── ConnectionLost         the connection broke while a call was under way
├── ProtocolError          the bytes are not MessagePack-RPC as docs/rpc.md has it
└── RemoteError            the daemon answered with an error
    ├── BadParams          a parameter is missing, of the wrong type, or out of bounds
    ├── UnknownMethod      no such method
    ├── NotFound           no job or lesson of that id
    ├── AmbiguousId        an id prefix that fits more than one
    ├── TooLarge           a report or frame above the limit
    ├── StoreUnavailable   the disk is full, or the store failed: nothing is acknowledged
    ├── Overloaded         too many connections or requests
    ├── Stopping           the daemon is shutting down
    └── InternalError      a bug of ours; the daemon's log has the traceback

The `code` of a RemoteError is what travels on the wire.
"""

from __future__ import annotations

from typing import ClassVar


class ReflexionError(Exception):
    """Root of the tree. `hint` says what to do next."""

    code: ClassVar[str] = "error"
    hint: ClassVar[str] = ""


class ConfigError(ReflexionError):
    """A setting has a value that is refused; the message names it and the accepted form."""

    code = "config"


class DaemonUnreachable(ReflexionError):  # noqa: N818 - named for what happened, as users read it
    """Nobody answers at the socket."""

    code = "unreachable"
    hint = "start it with `reflexionctl start`, or set REFLEXIOND_AUTOSTART=1"


class DaemonNotStarted(DaemonUnreachable):
    """A daemon was started and did not come up; the message quotes what it said."""

    hint = ""


class CallTimeout(ReflexionError):  # noqa: N818
    """No answer within the deadline. The daemon may still have carried the call out."""

    code = "timeout"


class ConnectionLost(ReflexionError):  # noqa: N818
    """The connection broke while a call was under way; whether it was done is unknown."""

    code = "connection_lost"
    hint = "repeat the call: reports are recognised by their id and never counted twice"


class ProtocolError(ReflexionError):
    """The peer sent bytes that are not MessagePack-RPC as documented."""

    code = "protocol"


class RemoteError(ReflexionError):
    """The daemon answered with an error. `data` holds machine-readable details.

    Args:
        message: one sentence for people.
        data: details by name, or None.
    """

    code = "remote"

    def __init__(self, message: str, data: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.data = data or {}


class BadParams(RemoteError):  # noqa: N818
    """A parameter is missing, of the wrong type, or out of bounds."""

    code = "bad_params"


class UnknownMethod(RemoteError):  # noqa: N818
    """The daemon has no such method."""

    code = "unknown_method"
    hint = "the daemon may be older than the client: restart it"


class NotFound(RemoteError):  # noqa: N818
    """No job or lesson has that id."""

    code = "not_found"


class AmbiguousId(RemoteError):  # noqa: N818
    """An id prefix fits more than one; `data["matches"]` lists some of them."""

    code = "ambiguous_id"
    hint = "give more digits"


class TooLarge(RemoteError):  # noqa: N818
    """A report or frame is larger than the limit that the message names."""

    code = "too_large"


class StoreUnavailable(RemoteError):  # noqa: N818
    """The store cannot write now; nothing was acknowledged."""

    code = "store_unavailable"
    hint = "see `reflexionctl status`"


class Overloaded(RemoteError):  # noqa: N818
    """Too many connections, or too many requests under way on this one."""

    code = "overloaded"


class Stopping(RemoteError):  # noqa: N818
    """The daemon is shutting down and takes no new work."""

    code = "stopping"


class InternalError(RemoteError):
    """A bug in the daemon; its log has the traceback."""

    code = "internal"


REMOTE_ERRORS: dict[str, type[RemoteError]] = {
    error.code: error
    for error in (
        BadParams,
        UnknownMethod,
        NotFound,
        AmbiguousId,
        TooLarge,
        StoreUnavailable,
        Overloaded,
        Stopping,
        InternalError,
    )
}


def from_wire(error: object) -> RemoteError:
    """Turn the error array `[code, message, data]` of a response into its exception.

    An error of another shape (another server, a newer daemon) becomes a plain
    `RemoteError` that quotes it.
    """
    match error:
        case [str(code), str(message), *rest]:
            data = rest[0] if rest and isinstance(rest[0], dict) else None
            return REMOTE_ERRORS.get(code, RemoteError)(message, data)
        case _:
            return RemoteError(f"the daemon answered with an error of unknown shape: {error!r}")
