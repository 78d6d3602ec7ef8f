"""The id of a job: the same report always has the same one, in every language.

It is the job's idempotency key and the name of its record, so every program that
writes records has to derive it alike.
"""

from __future__ import annotations

from hashlib import sha256

from ._gotext import collapse, lower, trim_space, well_formed

ID_DIGITS = 16


def derive_job_id(task: str, trigger: str, attempt: str, outcome: str) -> str:
    """Return the id of a report, 16 hexadecimal digits.

    Case and whitespace of the task do not count, nor case and outer whitespace of the
    trigger; attempt and outcome are only trimmed. Text that cannot be UTF-8 counts with
    U+FFFD in its place, as it will be stored.

    Args:
        task: what was to be done.
        trigger: why it is reported.
        attempt: what was tried.
        outcome: how that ended.
    """
    parts = (
        f"task:{collapse(lower(task))}",
        f"trigger:{trim_space(lower(trigger))}",
        f"attempt:{trim_space(attempt)}",
        f"outcome:{trim_space(outcome)}",
    )
    return sha256(well_formed("\0".join(parts)).encode()).hexdigest()[:ID_DIGITS]
