"""Job ids."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reflexion_client._gotext import collapse, lower
from reflexion_client.identity import derive_job_id

FIXTURE = Path(__file__).parent.parent / "fixtures/lessonq/job_ids.jsonl"


def test_every_id_is_the_reference_s() -> None:
    """All 120 requests give the id and the normalised task that Go gives."""
    lines = [json.loads(line) for line in FIXTURE.read_text().split("\n") if line]
    wrong = []
    for line in lines:
        request = line["request"]
        ours = derive_job_id(
            request["Task"], request["Trigger"], request["Attempt"], request["Outcome"]
        )
        if (line["id"], line["normalized_task"]) != (ours, collapse(lower(request["Task"]))):
            wrong.append(line["name"])
    assert (120, []) == (len(lines), wrong)


@given(st.text(), st.text(), st.text(), st.text())
def test_an_id_is_sixteen_hex_digits(task: str, trigger: str, attempt: str, outcome: str) -> None:
    """Any text gives an id, and space around the parts does not matter."""
    found = derive_job_id(task, trigger, attempt, outcome)
    assert 16 == len(found)
    assert int(found, 16) >= 0
    assert found == derive_job_id(f" {task}\n", trigger, f"\t{attempt} ", f"{outcome}\r\n")


def test_a_lone_surrogate_counts_as_unreadable() -> None:
    """Text that is no UTF-8 hashes as the replacement character."""
    assert derive_job_id("a\ufffd", "error", "", "") == derive_job_id("a\ud800", "error", "", "")
