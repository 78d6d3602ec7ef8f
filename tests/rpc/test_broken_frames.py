"""Bytes that no sound client sends reach a real daemon: they harm their own connection at most."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from raw_client import Raw, frame, request

from reflexion_client import wire

Start = Callable[..., Any]

SMALL_FRAME = 65_536
MIB = 2**20


@pytest.fixture
def start(new_daemon: Start) -> Start:
    """Return a starter of daemons without a model, given more settings."""

    def start(*settings: str, **more: Any) -> Any:
        chosen = [part for setting in settings for part in ("--set", setting)]
        return new_daemon("--set", "embed.model=off", *chosen, **more).start()

    return start


@pytest.fixture
def running(start: Start) -> Any:
    """Return a running daemon."""
    return start()


@pytest.fixture
def bystander(running: Any) -> Iterator[Raw]:
    """Return another connection, which must not notice anything."""
    with Raw(running.socket) as connection:
        assert connection.answers()
        yield connection
        assert connection.answers()


@pytest.fixture
def raw(running: Any, bystander: Raw) -> Iterator[Raw]:
    """Return the connection to be abused."""
    with Raw(running.socket) as connection:
        yield connection


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has had resident so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def nested(levels: int) -> object:
    """Return arrays that nest this deep."""
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "data",
    [
        b"\xc1",  # a byte that MessagePack never uses
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"\x91" * 5_000,  # nesting without end
        b"\xdd\xff\xff\xff\xff",  # an array of four billion
        b"\xdf\xff\xff\xff\xff",  # a map of four billion
        b"\xc9\xff\xff\xff\xff\x01",  # an extension of four gigabytes
        b"\x81\x91\x00\x00",  # a map whose key is an array
        frame(0),
        frame(0, "one", "ping", [{}]),
        frame(0, -1, "ping", [{}]),
        frame(0, 2**32, "ping", [{}]),
        frame(0, True, "ping", [{}]),  # an id that is no number
        frame(3, 1, "ping", [{}]),
        frame(2, 7, [{}]),
        frame(),
    ],
)
def test_broken_bytes_close_their_connection(raw: Raw, running: Any, data: bytes) -> None:
    """What is no message ends the connection that sent it, without a word and without a trace."""
    raw.send(data)
    assert raw.read() is None
    assert "Traceback" not in running.log


@pytest.mark.parametrize(
    "data",
    [
        frame(0, 5, "ping"),
        frame(0, 5, "ping", [{}], "more"),
        frame(0, 5, 7, [{}]),
        frame(0, 5, "ping", None),
        frame(0, 5, "ping", "text"),
        frame(0, 5, "ping", [{7: "a"}]),
        frame(0, 5, "ping", [{"deep": nested(wire.MAX_NESTING)}]),
        frame(0, 5, "ping", {"deep": nested(wire.MAX_NESTING)}),
        frame(0, 5, "ping", [nested(wire.MAX_NESTING)]),
    ],
)
def test_a_bad_request_is_answered_once(raw: Raw, data: bytes) -> None:
    """A request of a bad shape whose id can be read gets one error, then the connection ends."""
    raw.send(data + request(6, "ping"))
    kind, request_id, (code, message, details), result = raw.read()
    assert (1, 5, "bad_params", True, {}, None) == (
        *(kind, request_id, code, bool(message)),
        *(details, result),
    )
    assert raw.read() is None


def test_sixteen_levels_are_read(raw: Raw) -> None:
    """The params map and fifteen levels in it are the deepest that is accepted."""
    assert raw.call("ping", deep=nested(wire.MAX_NESTING - 1))[2] is None


@pytest.mark.parametrize("request_id", [0, 1, 127, 128, 65_536, 2**31, 2**32 - 1])
def test_ids_of_the_whole_range(raw: Raw, request_id: int) -> None:
    """Every unsigned 32-bit number is an id."""
    assert [1, request_id, None] == raw.call("ping", request_id)[:3]


def test_an_id_under_way_is_refused(raw: Raw) -> None:
    """A second request under the same id gets an error; the first is answered, the id is free."""
    raw.send(request(5, "ping") * 2)
    refused, answered = raw.read(), raw.read()
    assert [1, 5, "bad_params"] == [*refused[:2], refused[2][0]]
    assert [1, 5, None] == answered[:3]
    assert [1, 5, None] == raw.call("ping", 5)[:3]


@pytest.mark.parametrize("params", [[], {}, [{}], {"unknown": 1}])
@pytest.mark.parametrize("method", ["ping", b"ping"])
def test_forms_of_a_request(raw: Raw, method: object, params: object) -> None:
    """A method may be bin, and params an empty array or a bare map."""
    raw.send(frame(0, 9, method, params))
    assert [1, 9, None] == raw.read()[:3]


@pytest.mark.parametrize("params", [["task"], [{}, {}], [None], [["task"]]])
def test_positional_params_are_refused(raw: Raw, params: object) -> None:
    """A list of values is answered with `bad_params`, and the connection goes on."""
    raw.send(frame(0, 9, "recall", params))
    kind, request_id, (code, message, _), _ = raw.read()
    assert (1, 9, "bad_params") == (kind, request_id, code)
    assert "one map" in message
    assert raw.answers()


def test_what_asks_for_nothing_gets_nothing(raw: Raw) -> None:
    """Notifications and stray responses are passed over."""
    raw.send(frame(2, "no.such", [{}]) + frame(2, b"nvim_set_client_info", ["a", {}, "b"]))
    raw.send(frame(2, "shutdown", []) + frame(1, 3, None, "stray"))
    assert [1, 9, None] == raw.call("ping", 9)[:3]


def test_half_a_frame_then_silence(running: Any, bystander: Raw, wait_for: Any) -> None:
    """A client that leaves in the middle of a message leaves nothing behind."""
    whole = request(1, "enqueue", task="never reported")
    for cut in range(1, len(whole)):
        with Raw(running.socket) as leaving:
            leaving.send(whole[:cut])
    wait_for(lambda: bystander.call("status")[3]["connections"] == 1)
    assert 0 == bystander.call("jobs.history")[3]["total"]
    assert 0 == bystander.call("jobs.list")[3]["total"]


def test_a_request_in_pieces(raw: Raw) -> None:
    """A message that arrives byte by byte is one message."""
    for byte in request(3, "enqueue", task="piecemeal", outcome="ERROR: x"):
        raw.send(bytes([byte]))
    assert "accepted" == raw.read()[3]["outcome"]


def test_many_requests_in_one_write(raw: Raw) -> None:
    """Two hundred requests sent at once are all answered, each under its id."""
    methods = ("ping", "status", "jobs.list", "no.such")
    sent = {number: methods[number % 4] for number in range(200)}
    raw.send(b"".join(request(number, method) for number, method in sent.items()))
    answers = [raw.read() for _ in sent]
    assert sent.keys() == {answer[1] for answer in answers}
    refused = {answer[1] for answer in answers if answer[2] is not None}
    assert {number for number, method in sent.items() if method == "no.such"} == refused


def test_more_requests_than_may_be_under_way(start: Start) -> None:
    """Requests beyond the limit wait for earlier ones, and each is answered when it is read."""
    running = start("rpc.max_pending=3")
    sent = range(1_500)
    with Raw(running.socket) as raw, Raw(running.socket) as bystander:
        methods = ("config", "ping", "config", "no.such")
        raw.send(b"".join(request(number, methods[number % 4]) for number in sent))
        # More than the socket and the daemon hold for a client that does not read.
        assert bystander.answers()
        assert set(sent) == {raw.read()[1] for _ in sent}
        assert raw.answers()


def test_a_report_does_not_wait_for_its_sender_to_read(start: Start, wait_for: Any) -> None:
    """A report behind answers that nobody reads is carried out at once."""
    running = start()
    with Raw(running.socket) as slow, Raw(running.socket) as bystander:
        asked = b"".join(request(number, "config") for number in range(400))
        slow.send(asked + request(4_000, "enqueue", task="build"))
        wait_for(lambda: bystander.call("jobs.history")[3]["total"] == 1)
        answers = [slow.read() for _ in range(401)]
        assert set(range(400)) | {4_000} == {answer[1] for answer in answers}


def test_a_frame_at_the_limit_is_taken(start: Start) -> None:
    """The largest message allowed is carried out; one byte more ends the connection."""
    running = start(f"rpc.max_frame_bytes={SMALL_FRAME}")
    room = SMALL_FRAME - len(request(1, "enqueue", task="x" * 60_000)) + 60_000
    fits, larger = (request(1, "enqueue", task="x" * size) for size in (room, room + 1))
    assert (SMALL_FRAME, SMALL_FRAME + 1) == (len(fits), len(larger))
    with Raw(running.socket) as raw:
        raw.send(fits)
        assert "accepted" == raw.read()[3]["outcome"]
        raw.send(larger)
        assert raw.read() is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
@pytest.mark.parametrize(
    "data",
    [
        # One string; many small values; keys without end.
        b"\x94\x00\x01\xa4ping\x91\x81\xa1a\xdb\xff\xff\xff\xff" + b"x" * 2**24,
        b"\x94\x00\x01\xa4ping\x91\x81\xa1a\xdc\xff\xff"
        + (b"\xdc\xff\xff" + b"\x00" * 65_535) * 99,
        b"\x94\x00\x01\xa4ping\x91" + b"\xde\xff\xff\xa1a" * 2_000_000,
    ],
    ids=["string", "elements", "maps"],
)
def test_an_oversized_frame_costs_no_memory(start: Start, data: bytes) -> None:
    """A message over the limit is refused while it arrives; the daemon does not grow with it."""
    running = start(f"rpc.max_frame_bytes={SMALL_FRAME}")
    with Raw(running.socket) as bystander:
        assert bystander.answers()
        before = peak_bytes(running.pid)
        for _ in range(5):
            with Raw(running.socket) as raw:
                with suppress(BrokenPipeError, ConnectionResetError):
                    raw.send(data)
                assert raw.read() is None
        assert bystander.answers()
        assert peak_bytes(running.pid) - before < 8 * MIB


def test_connections_over_the_limit(start: Start, wait_for: Any) -> None:
    """The fifth of four is answered `overloaded` and hung up on; one that leaves makes room."""
    running = start("rpc.max_connections=4")
    wait_for(lambda: not overloaded(running.socket))
    inside = [Raw(running.socket) for _ in range(4)]
    try:
        wait_for(lambda: all(connection.answers() for connection in inside))
        turned_away, silent = Raw(running.socket), Raw(running.socket)
        with turned_away, silent, Raw(running.socket) as idle:
            code, message, _ = turned_away.call("ping")[2]
            assert ("overloaded", True) == (code, "4 connections" in message)
            assert turned_away.read() is None
            # One that waits in front of the door takes no place.
            inside.pop().close()
            wait_for(lambda: not overloaded(running.socket))
            assert "overloaded" == idle.call("ping")[2][0]
            assert silent.read() is None
        assert all(connection.answers() for connection in inside)
    finally:
        for connection in inside:
            connection.close()


def overloaded(socket: Path) -> bool:
    """Return whether a new connection is turned away."""
    with Raw(socket) as connection:
        return not connection.answers()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_a_slow_reader_harms_nobody(start: Start) -> None:
    """A client that asks for far more than it reads is held back; others are answered meanwhile."""
    running = start()
    lesson = "never read, always told " * 160
    with Raw(running.socket) as bystander, Raw(running.socket) as slow:
        for number in range(250):
            bystander.call("lessons.remember", text=f"{number} {lesson}")
        answer = bystander.call("lessons.list", limit=250)[3]
        assert 250 == len(answer["lessons"])
        before = peak_bytes(running.pid)
        asked = b"".join(request(number, "lessons.list", limit=250) for number in range(2_000))
        assert slow.pour(asked)
        for _ in range(100):
            assert bystander.answers()
        assert [1, 1, None] == bystander.call("status")[:3]
        assert peak_bytes(running.pid) - before < 128 * MIB


def test_a_peer_of_another_user_is_refused(start: Start) -> None:
    """A process of another user is hung up on before a byte of it is read."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="reflexiond-test-") as folder:
        socket = Path(folder) / "open.sock"
        state = start(name="guarded", REFLEXIOND_SOCKET=str(socket))
        # As on a system that ignores the modes of sockets.
        Path(folder).chmod(0o755)
        socket.chmod(0o666)
        code = (
            "import os, socket, sys\n"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "peer = socket.socket(socket.AF_UNIX); peer.settimeout(20); peer.connect(sys.argv[1])\n"
            "try:\n"
            "    peer.sendall(bytes.fromhex('940001a470696e679180'))\n"
            "    print(peer.recv(4096))\n"
            "except (BrokenPipeError, ConnectionResetError):\n"
            "    print(b'')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(socket)], capture_output=True, text=True, check=False
        )
        assert (0, "b''\n", "") == (done.returncode, done.stdout, done.stderr)
        assert "a connection of another user was refused" in state.log
        with Raw(socket) as own:
            assert own.answers()
