"""The retry policy's arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexiond.queue.backoff import MAX_RETRY_AFTER_NS, RetryPolicy, next_delay_ns

FIXTURE = Path(__file__).parent.parent / "fixtures/lessonq/retry.jsonl"
LINES = [json.loads(line) for line in FIXTURE.read_text().split("\n") if line]


def policy(fields: dict[str, Any]) -> RetryPolicy:
    return RetryPolicy(
        **fields | {name: float(fields[name]) for name in ("jitter_fraction", "multiplier")}
    )


@pytest.mark.parametrize("name", sorted({line["name"] for line in LINES}))
def test_the_arithmetic_is_the_reference_s(name: str) -> None:
    """Defaulting, delay and retry decision agree to the nanosecond."""
    for line in (line for line in LINES if line["name"] == name):
        ours = policy(line["policy"]).normalized()
        # As text, because NaN is not equal to itself.
        assert repr(policy(line["normalized"])) == repr(ours)
        assert line["delay_ns"] == ours.delay_ns(line["attempt"], line["rng"])
        assert line["should_retry"] == ours.should_retry(line["attempt"])


def test_the_fixture_is_whole() -> None:
    """All 433 delays are compared."""
    assert 433 == len(LINES)


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_stays_within_its_bounds(attempt: int, random: float) -> None:
    """However many attempts, a delay is at most the cap and its jitter."""
    assert 0 <= RetryPolicy().delay_ns(attempt, random) <= 360_000_000_000


@given(
    st.integers(-(10**12), 10**15),
    st.integers(-(10**12), 10**15),
    st.floats(allow_nan=False),
    st.floats(),
    st.integers(-5, 50),
)
def test_a_normalized_policy_makes_sense(
    initial: int, longest: int, multiplier: float, jitter: float, attempts: int
) -> None:
    """Whatever it was made of, its delays are bounded, it ends, and repeating changes nothing."""
    found = RetryPolicy(initial, longest, multiplier, jitter, attempts).normalized()
    assert 0 < found.initial_delay_ns <= found.max_delay_ns
    assert 0 <= found.delay_ns(40, 0.9) <= 1.5 * found.max_delay_ns
    assert not found.should_retry(found.max_attempts)
    assert repr(found) == repr(found.normalized())


def test_a_provider_s_wish_is_a_minimum() -> None:
    """Retry-After lengthens a delay and never shortens it."""
    assert 90 * 10**9 == next_delay_ns(RetryPolicy(), 1, 0.5, 90 * 10**9)
    assert 10**9 == next_delay_ns(RetryPolicy(), 1, 0.5, 5)
    assert 10**9 == next_delay_ns(RetryPolicy(), 1, 0.5, 0)


def test_a_provider_cannot_strand_a_job() -> None:
    """A Retry-After of years counts as one day."""
    assert MAX_RETRY_AFTER_NS == next_delay_ns(RetryPolicy(), 1, 0.5, 10**18)
