"""A daemon of a few lines: it answers each method with what a test put there."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reflexion_client import wire
from reflexion_client.errors import NotFound, RemoteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

S = 1_000_000_000

JOB = {
    "id": "3fa9c01d2b7e4f60",
    "state": "dead",
    "task": "build [bold]the\x1b[31m image",
    "attempt": "ran `make`\nboom",
    "outcome": "ERROR: exit status 2",
    "trigger": "error",
    "workspace": "/work",
    "source": "agent",
    "enqueued_at_ns": 1_700_000_000 * S,
    "first_enqueued_at_ns": 1_700_000_000 * S,
    "next_attempt_at_ns": 1_700_000_060 * S,
    "attempts": 5,
    "deaths": 0,
    "last_error": "no space left",
    "died_at_ns": 1_700_000_100 * S,
    "reason": "5 attempts failed",
    "traceback": "",
}
FAILURES = [{"at_ns": 1_700_000_100 * S, "attempt": 5, "error": "no space left"}]
ENDED = {
    "id": "aa00000000000001",
    "outcome": "success",
    "ended_at_ns": 1_700_000_200 * S,
    "enqueued_at_ns": 1_700_000_000 * S,
    "attempts": 1,
    "trigger": "error",
    "task": "run the tests",
    "workspace": "/work",
    "source": "agent",
    "lesson_id": "42",
    "detail": "",
}
LESSON = {
    "id": "42",
    "situation": "running the tests",
    "mistake": "no fixtures",
    "correction": "make fixtures first",
    "tags": ["reflexion", "trigger:error"],
    "trigger": "error",
    "category": "lesson",
    "workspace": "/work",
    "source": "agent",
    "distiller": "heuristic",
    "job_id": "aa00000000000001",
    "created_at_ns": 1_700_000_200 * S,
    "last_seen_at_ns": 1_700_000_300 * S,
    "seen": 2,
    "fact": "LESSON: running the tests",
}
STATUS = {
    "version": "0.1.0",
    "protocol": 1,
    "pid": 4242,
    "boot_id": "b",
    "started_at_ns": 1_700_000_000 * S,
    "uptime_s": 7200.0,
    "state": "running",
    "problem": "",
    "socket": "/run/x.sock",
    "state_dir": "/state",
    "queue": {
        "pending": 3,
        "parked": 0,
        "running": 1,
        "dead": 2,
        "capacity": 1000,
        "workers": 2,
        "policy": "block",
        "next_due_at_ns": None,
        "persistent": True,
    },
    "lessons": 7,
    "embedder": {"id": "minilm", "state": "ready", "reason": ""},
    "counters": {"accepted": 10, "done": 8, "buried": 0},
    "store": {"path": "/state/x.db", "bytes": 4096, "wal_bytes": 0, "schema": 1, "check": "ok"},
    "connections": 1,
    "paused": "",
}


class Fake:
    """What it answers, and what it was asked."""

    def __init__(self, path: Path) -> None:
        self.socket = path
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Any] = {
            "ping": {"version": "0.1.0", "pid": 4242},
            "status": STATUS,
            "enqueue": {"id": JOB["id"], "outcome": "accepted", "state": "pending"},
            "recall": {"lessons": [], "section": "", "mode": "text", "floor": 0.5},
            "lessons.remember": {"id": "42", "fact": "LESSON: x", "new": True},
            "jobs.list": {"jobs": [], "next": None, "total": 0},
            "jobs.failed": {"jobs": [JOB], "next": None, "total": 1},
            "jobs.history": {"history": [ENDED], "next": None, "total": 1},
            "lessons.list": {"lessons": [LESSON], "next": None, "total": 1},
            "jobs.retry": {"retried": 1, "ids": [JOB["id"]]},
            "jobs.purge": {"purged": 1, "ids": [JOB["id"]]},
            "jobs.drain": {"due": 2, "admitted": 1},
            "lessons.show": {"lesson": LESSON},
            "lessons.delete": {"deleted": "42"},
            "jobs.show": {"job": JOB, "failures": FAILURES, "history": []},
            "config": {
                "settings": [
                    {
                        "key": "queue.workers",
                        "value": 2,
                        "origin": "default",
                        "help": "How many jobs run at a time.",
                        "names": ["REFLEXIOND_QUEUE_WORKERS"],
                    }
                ],
                "file": "/c/config.toml",
            },
        }

    def params(self, method: str) -> dict[str, Any]:
        """Return what the last call of a method asked for."""
        return [params for name, params in self.asked if name == method][-1]

    def _answer(self, request: wire.Request) -> bytes:
        self.asked.append((request.method, request.params))
        answer = self.answers.get(request.method, NotFound("no such thing"))
        if callable(answer):
            answer = answer(request.params)
        if isinstance(answer, RemoteError):
            return wire.encode_error(request.id, answer)
        return wire.encode_result(request.id, answer)

    def serve(self, listener: socket.socket) -> None:
        """Answer one connection after the other, until the listener closes."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                decoder = wire.Decoder()
                while data := connection.recv(wire.READ_BYTES):
                    for message in decoder.feed(data):
                        connection.sendall(self._answer(message))


@contextmanager
def running(folder: Path) -> Iterator[Fake]:
    """Run a fake daemon in a thread."""
    fake = Fake(folder / "s.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(fake.socket))
        listener.listen()
        thread = threading.Thread(target=fake.serve, args=(listener,))
        thread.start()
        try:
            yield fake
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
