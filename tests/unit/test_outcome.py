"""What follows from what a processor said: the policy, as a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reflexion_client.model import LessonRequest
from reflexiond.clock import SECOND_NS
from reflexiond.memory import lessons
from reflexiond.model import Bury, Done, Job, JobId, JobState, Outcome, Retry, Skipped, Snooze
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.queue.outcome import Again, judge

NOW_NS = 1_000 * SECOND_NS
POLICY = RetryPolicy(SECOND_NS, 60 * SECOND_NS, jitter_fraction=0.2, max_attempts=3)
JOB = Job(
    seq=1,
    id=JobId("0" * 16),
    state=JobState.RUNNING,
    request=LessonRequest("a task"),
    workspace="/w",
    source="tests",
    enqueued_at_ns=1,
    first_enqueued_at_ns=1,
    next_attempt_at_ns=1,
    attempts=1,
    deaths=0,
    last_error="",
)
LESSON = lessons.manual("pin the version", workspace="/w", source="tests", now_ns=1)


@pytest.mark.parametrize(
    "outcome",
    [Done(LESSON, None), Skipped("nothing in it"), Bury("no use", "Traceback …")],
    ids=lambda outcome: type(outcome).__name__,
)
@pytest.mark.parametrize("attempts", [1, 3])
def test_final_words_stand_as_they_are(outcome: Outcome, attempts: int) -> None:
    """What a processor calls the end is the end, on any attempt."""
    assert outcome == judge(outcome, replace(JOB, attempts=attempts), POLICY, NOW_NS, 0.5)


@pytest.mark.parametrize("attempts", [1, 3, 50])
def test_a_snooze_costs_nothing(attempts: int) -> None:
    """A snoozed job is due when it asked to be, even after its last attempt."""
    outcome = Snooze(NOW_NS + 7, "the provider is closed")
    expected = Again(NOW_NS + 7, "the provider is closed", spent=False)
    assert expected == judge(outcome, replace(JOB, attempts=attempts), POLICY, NOW_NS, 0.5)


@pytest.mark.parametrize(
    ("attempts", "random", "delay_s"),
    [(1, 0.5, 1.0), (2, 0.5, 2.0), (1, 0.0, 0.8), (2, 0.0, 1.6), (1, 0.75, 1.1)],
)
def test_a_retry_is_put_off_by_the_backoff(attempts: int, random: float, delay_s: float) -> None:
    """The delay doubles with each attempt, and the random number moves it both ways."""
    expected = Again(NOW_NS + int(delay_s * SECOND_NS), "HTTP 503", spent=True)
    job = replace(JOB, attempts=attempts)
    assert expected == judge(Retry("HTTP 503"), job, POLICY, NOW_NS, random)


def test_the_provider_may_ask_for_more_time() -> None:
    """A Retry-After that is longer than the backoff wins, a shorter one does not."""
    later = Again(NOW_NS + 30 * SECOND_NS, "HTTP 429", spent=True)
    assert later == judge(Retry("HTTP 429", 30 * SECOND_NS), JOB, POLICY, NOW_NS, 0.5)
    backoff = Again(NOW_NS + SECOND_NS, "HTTP 429", spent=True)
    assert backoff == judge(Retry("HTTP 429", 1), JOB, POLICY, NOW_NS, 0.5)


@pytest.mark.parametrize("attempts", [3, 4])
def test_used_up_attempts_bury_with_the_last_error(attempts: int) -> None:
    """The last attempt has no retry, and the reason quotes what went wrong."""
    expected = Bury(f"gave up after {attempts} attempts: HTTP 503")
    job = replace(JOB, attempts=attempts)
    assert expected == judge(Retry("HTTP 503", 5), job, POLICY, NOW_NS, 0.5)
