"""The retry policy's arithmetic."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexiond.queue.backoff import RetryPolicy, next_delay_ns

LINES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "fixtures/lessonq/retry.jsonl").read_text().split("\n")
    if line
]


def policy(fields: dict[str, Any]) -> RetryPolicy:
    return RetryPolicy(**{**fields, "jitter_fraction": float(fields["jitter_fraction"])})


@pytest.mark.parametrize("name", sorted({line["name"] for line in LINES}))
def test_the_arithmetic_is_the_reference_s(name: str) -> None:
    """Defaulting, delay and retry decision agree to the nanosecond."""
    for line in (line for line in LINES if line["name"] == name):
        ours = policy(line["policy"]).normalized()
        theirs = policy(line["normalized"])
        assert theirs == ours or math.isnan(theirs.jitter_fraction)
        assert line["delay_ns"] == ours.delay_ns(line["attempt"], line["rng"])
        assert line["should_retry"] == ours.should_retry(line["attempt"])


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_stays_within_its_bounds(attempt: int, random: float) -> None:
    """However many attempts, a delay is at most the cap and its jitter."""
    assert 0 <= RetryPolicy().delay_ns(attempt, random) <= 360_000_000_000


def test_a_provider_s_wish_is_a_minimum() -> None:
    """Retry-After lengthens a delay and never shortens it."""
    assert 90 * 10**9 == next_delay_ns(RetryPolicy(), 1, 0.5, 90 * 10**9)
    assert 10**9 == next_delay_ns(RetryPolicy(), 1, 0.5, 5)
