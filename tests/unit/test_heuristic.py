"""The lesson that is found without a model."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion_client.model import LessonRequest, Trigger
from reflexiond.distil.heuristic import distil
from reflexiond.model import LessonDraft, Skipped

PYTEST_OUTPUT = """\
============================= test session starts ==============================
tests/test_cart.py F                                                     [100%]
    def test_total():
>       assert total([1, 2]) == 3
E       assert 2 == 3
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 2 == 3
============================== 1 failed in 0.02s ===============================
"""


def draft(request: LessonRequest, source: str = "pytest") -> LessonDraft:
    found = distil(request, source)
    assert isinstance(found, LessonDraft)
    return found


def reason(request: LessonRequest, source: str = "pytest") -> str:
    found = distil(request, source)
    assert isinstance(found, Skipped)
    return found.reason


def test_an_error_is_diagnosed() -> None:
    """Task and mode make the situation, the root cause the mistake, the hypothesis the advice."""
    request = LessonRequest(
        "Fix the total of the shopping cart", PYTEST_OUTPUT, "ERROR: exit status 1", Trigger.ERROR
    )
    found = draft(request)
    assert "Fix the total of the shopping cart (a test failed)" == found.situation
    assert "assert 2 == 3" in found.mistake
    assert len(found.correction) > 20
    assert ("test_failure", "pytest", "total", "shopping", "cart") == found.tags


def test_an_outcome_alone_is_enough() -> None:
    """A report without output is judged by how it ended."""
    found = draft(LessonRequest("deploy", "", "ERROR: permission denied: /etc/app", "error"), "sh")
    assert "deploy (access was denied)" == found.situation
    assert "permission denied: /etc/app" in found.mistake
    assert ("permission_denied", "sh", "deploy") == found.tags


@pytest.mark.parametrize(
    ("trigger", "outcome", "happened", "advice"),
    [
        (
            Trigger.HALLUCINATION,
            "DISCREPANCY (from CoVe): the port is 5433",
            "the answer did not hold up when it was verified",
            "Check each claim against its source before answering; what was wrong",
        ),
        (
            Trigger.LOW_QUALITY,
            "LOW QUALITY (from Self-Refine): the port is 5433",
            "the answer was judged not good enough",
            "Meet this before handing in the next answer",
        ),
    ],
)
def test_a_judgement_is_quoted(trigger: str, outcome: str, happened: str, advice: str) -> None:
    """What a verifier or judge said is the mistake, and what to mind next time."""
    found = draft(LessonRequest("Name the database port", "5432", outcome, trigger), "agent")
    expected = LessonDraft(
        f"Name the database port ({happened})",
        "the port is 5433",
        f"{advice}: the port is 5433",
        (trigger, "agent", "name", "database", "port"),
    )
    assert expected == found


def test_a_manual_reflection_on_a_failure_is_diagnosed() -> None:
    """A turn whose output shows a failure is judged like any other."""
    request = LessonRequest("Fix it", PYTEST_OUTPUT, "MANUAL: user requested /reflect", "manual")
    assert "test_failure" == draft(request).tags[0]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (LessonRequest("t", "all fine", "MANUAL: user requested /reflect", "manual"), "model"),
        (LessonRequest("t", "", "ERROR: ", "error"), "neither what was tried nor how it ended"),
        (LessonRequest("t", " \n", "", "error"), "neither what was tried nor how it ended"),
        (LessonRequest("t", "a", "DISCREPANCY (from CoVe): ", "hallucination"), "what was wrong"),
        (LessonRequest("t", "a", "LOW QUALITY (from Self-Refine):", "low_quality"), "what was"),
    ],
)
def test_nothing_to_learn_is_skipped_with_a_reason(request_: LessonRequest, why: str) -> None:
    """Where a report holds no finding there is no lesson, and the history can say why."""
    assert why in reason(request_)


@pytest.mark.parametrize("trigger", [" Hallucination ", "HALLUCINATION"])
def test_triggers_are_read_leniently(trigger: str) -> None:
    """Case and blanks around a trigger do not matter."""
    request = LessonRequest("t", "a", "DISCREPANCY (from CoVe): wrong", trigger)
    assert "hallucination" == draft(request).tags[0]


def test_an_unknown_trigger_is_an_error() -> None:
    """A trigger of a tool's own is judged by the output."""
    request = LessonRequest("t", PYTEST_OUTPUT, "", "nightly_check")
    assert "test_failure" == draft(request).tags[0]


def test_a_report_without_a_task_has_a_situation() -> None:
    """What happened stands for what was to be done."""
    assert "A test failed" == draft(LessonRequest("", PYTEST_OUTPUT, "", "error")).situation


def test_a_tag_says_something() -> None:
    """Filler words are left out, also at the end of a sentence; names keep their form."""
    request = LessonRequest("Please fix the error. Use g++ and node.js.", PYTEST_OUTPUT)
    assert ("test_failure", "my-tool", "g++", "node.js") == draft(request, "My Tool").tags


@given(
    task=st.text(),
    attempt=st.text() | st.just(PYTEST_OUTPUT),
    outcome=st.text() | st.text().map("ERROR: {}".format) | st.text().map("MANUAL: {}".format),
    trigger=st.text() | st.sampled_from(Trigger),
    source=st.text() | st.sampled_from(["pytest", "generic", "unattributed", "timeout"]),
)
def test_any_report_gives_a_lesson_or_a_reason(
    task: str, attempt: str, outcome: str, trigger: str, source: str
) -> None:
    """Never an exception, never an empty lesson, always two to five different tags."""
    found = distil(LessonRequest(task, attempt, outcome, trigger), source)
    if isinstance(found, Skipped):
        assert found.reason
        return
    assert found.situation.strip()
    assert found.correction.strip()
    assert 2 <= len(found.tags) <= 5
    assert len(found.tags) == len(set(found.tags))
    assert all(tag and not re.search(r"\s", tag) for tag in found.tags)


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [("ran `false`\n", "ERROR: exit status 1"), ("hi", "ERROR: 1"), ("", "exited with code 3")],
)
def test_a_report_that_says_nothing_teaches_nothing(attempt: str, outcome: str) -> None:
    """A lesson of a bare exit code would be recalled for every other failure."""
    assert isinstance(distil(LessonRequest("build it", attempt, outcome), "s"), Skipped)


@pytest.mark.parametrize(
    ("attempt", "outcome", "mistake"),
    [
        (
            "ran `docker push x`\ndenied: access to the resource is denied",
            "ERROR: exit status 1",
            "denied: access to the resource is denied",
        ),
        (
            "x",
            "ERROR: the policy engine refused the release",
            "the policy engine refused the release",
        ),
    ],
)
def test_an_unknown_failure_keeps_its_own_words(attempt: str, outcome: str, mistake: str) -> None:
    """Where no rule knows the failure, the more telling of output and outcome is the mistake."""
    draft = distil(LessonRequest("ship it", attempt, outcome), "s")
    assert mistake == getattr(draft, "mistake", draft)
