"""When to try again: exponential backoff with jitter. Pure arithmetic.

The numbers agree with ChatCLI's to the nanosecond, floating point included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

DEFAULT_INITIAL_NS = 1_000_000_000
DEFAULT_MAX_NS = 300_000_000_000
DEFAULT_MULTIPLIER = 2.0
DEFAULT_ATTEMPTS = 5
MAX_JITTER = 0.5
MAX_RETRY_AFTER_NS = 24 * 3_600_000_000_000
"""A provider that asks for more is not believed: one bad header must not strand a job."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try, and how long to wait in between.

    Attributes:
        initial_delay_ns: before the first retry.
        max_delay_ns: the cap, before jitter.
        multiplier: what each further delay is multiplied by.
        jitter_fraction: how far a delay varies either way, 0 to 0.5.
        max_attempts: attempts in all, the first included.
    """

    initial_delay_ns: int = DEFAULT_INITIAL_NS
    max_delay_ns: int = DEFAULT_MAX_NS
    multiplier: float = DEFAULT_MULTIPLIER
    jitter_fraction: float = 0.2
    max_attempts: int = DEFAULT_ATTEMPTS

    def normalized(self) -> RetryPolicy:
        """Return the policy with senseless values replaced by the nearest sensible ones."""
        initial = self.initial_delay_ns if self.initial_delay_ns > 0 else DEFAULT_INITIAL_NS
        longest = self.max_delay_ns if self.max_delay_ns > 0 else DEFAULT_MAX_NS
        return replace(
            self,
            initial_delay_ns=initial,
            max_delay_ns=max(longest, initial),
            multiplier=self.multiplier if self.multiplier >= 1 else DEFAULT_MULTIPLIER,
            jitter_fraction=_clamp(self.jitter_fraction),
            max_attempts=self.max_attempts if self.max_attempts > 0 else DEFAULT_ATTEMPTS,
        )

    def delay_ns(self, attempt: int, random: float) -> int:
        """Return the delay after `attempt` (from 1) failed, in nanoseconds.

        `random` is a number in [0, 1): 0 gives the shortest delay, 0.5 the middle one.
        """
        delay = float(self.initial_delay_ns)
        for _ in range(attempt - 1):
            delay *= self.multiplier
            if delay >= self.max_delay_ns:
                break
        delay = min(delay, float(self.max_delay_ns))
        if self.jitter_fraction > 0:
            delay *= 1 + (random * 2 - 1) * self.jitter_fraction
        return max(int(delay), 0)

    def should_retry(self, attempt: int) -> bool:
        """Return whether another attempt may follow `attempt`."""
        return attempt < self.max_attempts


def _clamp(jitter: float) -> float:
    # NaN compares false with everything, stays what it is, and then means no jitter.
    return 0.0 if jitter < 0 else min(jitter, MAX_JITTER)


def next_delay_ns(policy: RetryPolicy, attempt: int, random: float, after_ns: int) -> int:
    """Return the delay, not shorter than the `Retry-After` of a provider.

    Args:
        policy: the retry policy.
        attempt: the attempt that failed, from 1.
        random: a number in [0, 1) for the jitter.
        after_ns: what the provider asks for, 0 for nothing; at most a day counts.
    """
    return max(policy.delay_ns(attempt, random), min(after_ns, MAX_RETRY_AFTER_NS))
