"""The hook against a real daemon: what it reports is on disk, however slow the daemon is."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reflexion_client import Client, ReflexionHook, derive_job_id
from reflexion_client.hook import Posted

LIGHT = ("--set", "embed.model=off")
DEADLINE_S = 0.02
SLACK_S = 1.0
"""What a busy machine may add to a deadline."""
LONG_S = 30.0
ERROR = {"error": "exit status 2", "output": "make: *** No rule to make target 'gen.go'"}


@pytest.fixture
def light(new_daemon: Callable[..., Any]) -> Any:
    return new_daemon(*LIGHT).start()


@contextmanager
def hooked(daemon: Any, deadline_s: float = LONG_S) -> Iterator[tuple[ReflexionHook, Client]]:
    """Give a hook and the client that it uses."""
    with daemon.client() as client:
        hook = ReflexionHook(client, deadline_s=deadline_s)
        try:
            yield hook, client
        finally:
            hook.close()


@contextmanager
def stopped(daemon: Any) -> Iterator[None]:
    """Halt the process of a daemon, as a machine under load may for a while."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def job_id(posted: Posted) -> str:
    assert posted.job is not None
    return posted.job.id


def test_a_report_is_accepted_and_distilled(light: Any, wait_for: Any) -> None:
    """A failing turn is answered with the job that records it, and ends as its lesson."""
    with hooked(light) as (hook, client):
        posted = hook.post_run("generate the sources", ERROR)
        assert ("accepted", "error") == (posted.state, posted.trigger)
        [ended] = wait_for(lambda: client.history()["history"])
        assert (job_id(posted), "success") == (ended["id"], ended["outcome"])
        lesson = client.lesson(ended["lesson_id"])["lesson"]
        assert ("generate the sources", "tests", "/w") == (
            lesson["task"],
            lesson["source"],
            lesson["workspace"],
        )


def test_a_slow_daemon_does_not_hold_up_the_turn(light: Any, wait_for: Any) -> None:
    """Past the deadline the turn goes on; the daemon commits the report once it can."""
    with hooked(light, DEADLINE_S) as (hook, client):
        client.ping()
        with stopped(light):
            began = time.monotonic()
            posted = hook.post_run("generate the sources", ERROR)
            took_s = time.monotonic() - began
        assert ("sent", None) == (posted.state, posted.job)
        assert DEADLINE_S <= took_s < DEADLINE_S + SLACK_S
        hook.close()
        [ended] = wait_for(lambda: client.history()["history"])
        assert "generate the sources" == ended["task"]


def test_a_first_report_to_a_slow_daemon_arrives_too(light: Any, wait_for: Any) -> None:
    """The connection, too, is made behind the turn's back."""
    with hooked(light, DEADLINE_S) as (hook, client):
        with stopped(light):
            began = time.monotonic()
            assert "sent" == hook.post_run("generate the sources", ERROR).state
            assert time.monotonic() - began < DEADLINE_S + SLACK_S
        hook.close()
        assert 1 == len(wait_for(lambda: client.history()["history"]))


def test_reports_of_many_turns_wait_in_line(light: Any, wait_for: Any) -> None:
    """A daemon that is away for several turns gets all of them, in order."""
    with hooked(light, 0.001) as (hook, client):
        with stopped(light):
            states = [hook.post_run(f"turn {n}", ERROR).state for n in range(5)]
        assert ["sent"] * 5 == states
        hook.close()
        ended = wait_for(lambda: (h := client.history()["history"]) and len(h) == 5 and h)
        assert {f"turn {n}" for n in range(5)} == {one["task"] for one in ended}


def test_a_large_report_arrives_whole(light: Any, wait_for: Any) -> None:
    """Ten megabytes take longer than the turn may wait, and are on disk all the same."""
    output = "".join(f"line {n:09}\n" for n in range(10_000_000 // 15))
    assert len(output) >= 9_990_000
    with hooked(light, DEADLINE_S) as (hook, client):
        began = time.monotonic()
        state = hook.post_run("print many lines", {**ERROR, "output": output}).state
        assert time.monotonic() - began < DEADLINE_S + SLACK_S
        assert state in {"sent", "accepted"}
        hook.close()
        whole = derive_job_id("print many lines", "error", output, "ERROR: exit status 2")
        [ended] = wait_for(lambda: client.history()["history"])
        assert (whole, "print many lines") == (ended["id"], ended["task"])


def test_a_full_queue_answers_parked_at_once(new_daemon: Callable[..., Any]) -> None:
    """A turn never waits for a slot: parked is as durable as accepted."""
    daemon = new_daemon(
        *(*LIGHT, "--set", "queue.capacity=1", "--set", "queue.block_timeout=1h")
    ).start()
    with hooked(daemon) as (hook, client):
        states: list[str] = []
        while "parked" not in states:
            states.append(hook.post_run(f"turn {len(states)}", ERROR).state)
        assert set(states) <= {"accepted", "parked"}
        assert client.status()["counters"]["parked"] >= 1
