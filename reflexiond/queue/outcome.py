"""The policy: what follows from what a processor said of a job. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from reflexiond.model import Bury, Done, Job, Outcome, Retry, Skipped, Snooze

from .backoff import RetryPolicy, next_delay_ns


@dataclass(frozen=True, slots=True)
class Again:
    """Put the job back, due at `due_ns`; `spent` tells whether the attempt counts."""

    due_ns: int
    error: str
    spent: bool


Verdict = Done | Skipped | Again | Bury


def judge(outcome: Outcome, job: Job, policy: RetryPolicy, now_ns: int, random: float) -> Verdict:
    """Decide what becomes of a claimed job.

    Args:
        outcome: what its processor said.
        job: the job, its current attempt counted.
        policy: how often and after how long to try again.
        now_ns: the time of day.
        random: a number in [0, 1) for the jitter.
    """
    match outcome:
        case Snooze(until_ns, reason):
            return Again(until_ns, reason, spent=False)
        case Retry(error, after_ns):
            if not policy.should_retry(job.attempts):
                return Bury(f"gave up after {job.attempts} attempts: {error}")
            delay = next_delay_ns(policy, job.attempts, random, after_ns)
            return Again(now_ns + delay, error, spent=True)
        case Done() | Skipped() | Bury():
            return outcome
