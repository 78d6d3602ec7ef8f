"""An answer is a promise, also under SIGKILL: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from reflexion_client import Client
from reflexion_client.errors import ReflexionError

ROUNDS = 10
PRODUCERS = 3
REPORTS = 30
"""How many reports a producer sends in a round: some kills then hit producers, some workers."""
LATEST_KILL_S = 0.15
SETTINGS = ("--set", "embed.model=off", "--set", "queue.workers=4")


@dataclass
class Witness:
    """What the producers were told."""

    acknowledged: list[str] = field(default_factory=list)

    def produce(self, client: Client, name: str) -> None:
        """Send distinct reports until the daemon dies; note each that was acknowledged."""
        with client, contextlib.suppress(ReflexionError):
            for n in range(REPORTS):
                report = client.enqueue(
                    f"compile unit {name}-{n}", attempt="the linker went away", wait_s=0
                )
                self.acknowledged.append(report.id)


def rows(ask: Callable[..., dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return all rows of a list that comes in pages."""
    page = ask(limit=200)
    found: list[dict[str, Any]] = page[name]
    while page["next"] is not None:
        page = ask(limit=200, after=page["next"])
        found += page[name]
    return found


def live_through_a_kill(daemon: Any, witness: Witness, name: str, kill_after_s: float) -> None:
    """Start the daemon, let producers report to it, kill it amid that or soon after."""
    daemon.start()
    go = threading.Barrier(PRODUCERS + 1)

    def produce(n: int) -> None:
        client = daemon.client()
        client.ping()
        go.wait(20)
        witness.produce(client, f"{name}-{n}")

    producers = [threading.Thread(target=produce, args=(n,)) for n in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    go.wait(20)
    # The moment itself is the stimulus, so this waits for time and for nothing else.
    threading.Event().wait(kill_after_s)
    daemon.kill()
    for producer in producers:
        producer.join()


def check(client: Client, acknowledged: list[str]) -> None:
    """Hold every report against its one place, and every lesson against its one report."""
    ended = rows(client.history, "history")
    waiting = Counter(job["id"] for job in rows(client.jobs, "jobs"))
    dead = Counter(job["id"] for job in rows(client.failed, "jobs"))
    learned = Counter(lesson["job_id"] for lesson in rows(client.lessons, "lessons"))
    assert {"success"} >= {entry["outcome"] for entry in ended}
    history = Counter(entry["id"] for entry in ended)
    places = history + waiting + dead
    assert len(acknowledged) == len(set(acknowledged))
    assert [] == [job_id for job_id in acknowledged if job_id not in places], "lost"
    assert [] == [job_id for job_id, n in places.items() if n > 1], "in two places"
    assert history == learned
    # A lesson that was learned twice is not stored twice, but it was seen twice.
    seen_again = [row["job_id"] for row in rows(client.lessons, "lessons") if row["seen"] != 1]
    assert [] == seen_again
    for job_id in acknowledged:
        shown = client.job(job_id)
        assert 1 == len(shown["history"]) + (shown["job"] is not None), shown


def survive(daemon: Any, wait_for: Any, rounds: int) -> None:
    """Kill the daemon so many times, let it come to rest, and check."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    moments = random.Random(seed)  # noqa: S311 - repeatable, no secret
    witness = Witness()
    for n in range(rounds):
        live_through_a_kill(daemon, witness, str(n), moments.uniform(0, LATEST_KILL_S))
    daemon.start()
    with daemon.client() as client:
        wait_for(lambda: client.jobs()["total"] == 0)
        check(client, witness.acknowledged)
    assert 0 == daemon.stop()
    print(f"{len(witness.acknowledged)} of {rounds * PRODUCERS * REPORTS} acknowledged")  # noqa: T201


def test_ten_kills(new_daemon: Any, wait_for: Any) -> None:
    """After ten kills every acknowledged report is one lesson, one dead job, or pending."""
    survive(new_daemon(*SETTINGS), wait_for, ROUNDS)


@pytest.mark.crash
@pytest.mark.parametrize("series", range(19))
def test_many_kills(new_daemon: Any, wait_for: Any, series: int) -> None:
    """The same holds for 190 kills more, ten to a state folder."""
    survive(new_daemon(*SETTINGS), wait_for, ROUNDS)
