"""How a draft becomes a lesson: its name, its tags, its text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexiond.memory import lessons
from reflexiond.memory.fact import fact_text
from reflexiond.model import Lesson, LessonDraft

DRAFT = LessonDraft(
    "Fix the cart", "the sum left out the last item", "sum all items", ("cart", "test_failure")
)


def lesson(draft: LessonDraft = DRAFT, **changes: Any) -> Lesson:
    facts = {
        "task": "Fix the total",
        "trigger": "error",
        "workspace": "/w",
        "source": "pytest",
        "distiller": "heuristic",
        "job_id": "0" * 16,
        "now_ns": 7,
    }
    return lessons.from_draft(draft, **{**facts, **changes})


def test_a_lesson_keeps_where_it_came_from() -> None:
    """Every fact of its origin is in its field, and it was seen once, now."""
    made = lesson()
    expected = Lesson(
        id=made.id,
        situation="Fix the cart",
        mistake="the sum left out the last item",
        correction="sum all items",
        trigger="error",
        tags=("cart", "test_failure", "reflexion", "trigger:error"),
        fact=fact_text("Fix the cart", "the sum left out the last item", "sum all items", "error"),
        task="Fix the total",
        workspace="/w",
        source="pytest",
        distiller="heuristic",
        job_id="0" * 16,
        created_at_ns=7,
        category="lesson",
        last_seen_at_ns=7,
        seen=1,
    )
    assert expected == made


def test_a_name_is_sixteen_hex_digits() -> None:
    """A lesson's id looks like a job's."""
    assert (16, True) == (len(lesson().id), set(lesson().id) <= set("0123456789abcdef"))


@pytest.mark.parametrize(
    "again",
    [
        lesson(task="another task", source="make", job_id="1" * 16, now_ns=8, trigger="manual"),
        lesson(replace(DRAFT, tags=("other",))),
        lesson(replace(DRAFT, situation="  fix\n the   CART ", correction="Sum All Items")),
    ],
)
def test_the_same_text_has_the_same_name(again: Lesson) -> None:
    """Whoever learns it again, case and blanks aside, reinforces the stored one."""
    assert lesson().id == again.id


@pytest.mark.parametrize(
    "other",
    [
        lesson(workspace="/other"),
        lesson(workspace="/W"),
        lesson(workspace=""),
        lesson(replace(DRAFT, situation="Fix the basket")),
        lesson(replace(DRAFT, mistake="the sum was negative")),
        lesson(replace(DRAFT, correction="sum no items")),
        lesson(LessonDraft("Fix the cart the sum left", "out the last item", "sum all items", ())),
    ],
)
def test_another_text_or_workspace_has_another_name(other: Lesson) -> None:
    """Each field counts, where it ends counts, and a workspace is a path, case and all."""
    assert lesson().id != other.id


def test_our_tags_are_there_once_and_last() -> None:
    """A draft that brings them along, or brings one twice, changes nothing."""
    tags = ("trigger:error", "cart", "cart", "", " ", "reflexion")
    assert ("cart", "reflexion", "trigger:error") == lesson(replace(DRAFT, tags=tags)).tags


def test_many_tags_do_not_push_ours_out() -> None:
    """There are sixteen at the most, ours among them."""
    tags = lesson(replace(DRAFT, tags=tuple(f"tag-{n}" for n in range(50)))).tags
    assert (16, ("reflexion", "trigger:error")) == (len(tags), tags[-2:])


def test_a_manual_lesson_is_the_users_text() -> None:
    """It is both when it applies and what to do, found by itself, and tagged as the user's."""
    made = lessons.manual("Pin the  version", workspace="/w", source="cli", now_ns=7)
    assert ("reflexion", "trigger:manual", "user-supplied") == made.tags
    assert ("Pin the version", "Pin the version", "", "Pin the version") == (
        made.situation,
        made.correction,
        made.mistake,
        made.task,
    )
    assert "\nMISTAKE: (unknown)\n" in made.fact
    assert ("manual", "user", "") == (made.trigger, made.distiller, made.job_id)


@given(st.text(), st.text(), st.text(), st.text(), st.lists(st.text(), max_size=30))
def test_any_draft_becomes_a_clean_lesson(
    situation: str, mistake: str, correction: str, trigger: str, tags: list[str]
) -> None:
    """Texts are single lines within their limits, and our two tags are always there."""
    draft = LessonDraft(situation * 50, mistake * 50, correction * 50, tuple(tags))
    made = lesson(draft, trigger=trigger, task=situation * 50)
    limits = {
        made.situation: lessons.SITUATION_CHARS,
        made.mistake: lessons.MISTAKE_CHARS,
        made.correction: lessons.CORRECTION_CHARS,
        made.task: lessons.TASK_CHARS,
        **dict.fromkeys(made.tags, lessons.TAG_CHARS + len("trigger:")),
    }
    assert all("\n" not in text for text in limits)
    assert all(len(text) <= max(limits.values()) for text in limits)
    assert len(made.situation) <= lessons.SITUATION_CHARS
    assert 4 == len(made.fact.split("\n"))
    assert 2 <= len(made.tags) <= lessons.MAX_TAGS
    assert ("reflexion", f"trigger:{made.trigger}") == made.tags[-2:]
