"""The table of methods, the page about the protocol and both clients say the same."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from reflexion_client import AsyncClient, Client, verbs, wire
from reflexion_client.errors import REMOTE_ERRORS, BadParams, from_wire
from reflexiond.rpc.methods import METHODS
from reflexiond.rpc.server import (
    MAX_ANSWERING,
    SLOW_READER_S,
    TURN_AWAY_S,
    WRITE_BUFFER_BYTES,
    Limits,
)

T = TypeVar("T")

PAGE = (Path(__file__).parents[2] / "docs" / "rpc.md").read_text("utf-8")
ROWS = set(re.findall(r"^\| `([a-z_.]+)` \|", PAGE, re.MULTILINE))

# Names of verbs that need a value, with one that will do.
VALUES: dict[str, object] = {"record": True, "job_id": "a", "timeout_s": 1.0}


def public(kind: type) -> dict[str, Callable[..., Any]]:
    """Return the public methods of a class by name."""
    return {
        name: value
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


class Recorder(Client):
    """A client that hands back the call instead of making it."""

    def perform(self, call: verbs.Call[T], timeout_s: float | None = None) -> Any:  # noqa: ARG002
        return call


def test_every_method_and_every_code_stands_on_the_page() -> None:
    """The page's tables name the methods and the error codes there are, and no others."""
    assert METHODS.keys() | REMOTE_ERRORS.keys() == ROWS


def test_limits_on_the_page_are_the_real_ones() -> None:
    """The page's numbers are those of the program."""
    limits = Limits()
    assert (16 * 2**20 + 64 * 2**10, 16 * 2**20) == (limits.max_frame_bytes, wire.MAX_REPORT_BYTES)
    assert (1024 * 1024, 30) == (WRITE_BUFFER_BYTES, SLOW_READER_S)
    for number in (
        f"| nesting of values | {wire.MAX_NESTING} levels |",
        f"| elements of one array or map | {wire.MAX_ELEMENTS:,} |",
        f"| elements of all arrays and maps of a message | {wire.MAX_VALUES:,} |",
        f"| requests worked on at once on a connection | {MAX_ANSWERING}, ",
        f"or closed after {TURN_AWAY_S:g} s of silence |",
        f"| connections | {limits.max_connections} (`rpc.max_connections`);",
        f"| requests under way on a connection | {limits.max_pending:,} (`rpc.max_pending`)",
    ):
        assert number in PAGE


def test_both_clients_have_the_same_verbs() -> None:
    """A verb of one client exists on the other, with the same signature."""
    assert public(Client).keys() == public(AsyncClient).keys()
    for name, verb in public(Client).items():
        twin = public(AsyncClient)[name]
        assert (name, inspect.signature(verb)) == (name, inspect.signature(twin))
        assert (name, True) == (name, inspect.iscoroutinefunction(twin))


def test_both_clients_are_made_alike() -> None:
    """The constructors take the same arguments."""
    assert inspect.signature(Client) == inspect.signature(AsyncClient)


def test_every_method_has_a_verb(tmp_path: Path) -> None:
    """Each method of the daemon can be called through the client, and no verb calls another."""
    client = Recorder(state_dir=tmp_path)
    called = {}
    for name, verb in public(Client).items():
        if name in {"close", "perform"}:
            continue
        needed = [
            parameter.name
            for parameter in inspect.signature(verb).parameters.values()
            if parameter.default is parameter.empty and parameter.name != "self"
        ]
        call = getattr(client, name)(**{name: VALUES.get(name, "text") for name in needed})
        called[name] = call.method
    assert METHODS.keys() == set(called.values())


@pytest.mark.parametrize("code", sorted(REMOTE_ERRORS))
def test_every_code_reaches_the_caller_as_its_class(code: str) -> None:
    """An error travels to the client and becomes its own class again, data and all."""
    kind = REMOTE_ERRORS[code]
    data = wire.encode_error(3, kind("why", {"n": 1}))
    (message,) = wire.Decoder().feed(data)
    assert isinstance(message, wire.Response)
    found = from_wire(message.error)
    assert (kind, "why", {"n": 1}) == (type(found), str(found), found.data)


def test_one_dead_job_or_all_of_them(daemon: Any) -> None:
    """A call that names a job and all of them is refused: it must not purge what was not meant."""
    with daemon.client() as client:
        for method in ("jobs.purge", "jobs.retry"):
            call = verbs.Call(method, {"id": "abc", "all": True}, dict)
            with pytest.raises(BadParams, match="not both"):
                client.perform(call)
