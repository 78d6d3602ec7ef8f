"""How a draft, or a user's own words, becomes a lesson that can be stored."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from reflexion_client.model import Trigger
from reflexiond.model import Lesson, LessonDraft, LessonId

from .fact import fact_text, one_line

SITUATION_CHARS = 400
MISTAKE_CHARS = 500
CORRECTION_CHARS = 800
TASK_CHARS = 600
TAG_CHARS = 48
MAX_TAGS = 16


def from_draft(
    draft: LessonDraft,
    *,
    task: str,
    trigger: str,
    workspace: str,
    source: str,
    distiller: str,
    job_id: str,
    now_ns: int,
) -> Lesson:
    """Return the lesson of a draft, cleaned and named.

    The name is a hash of the workspace and the normalised text, so the same lesson
    learned again has the same name and reinforces the stored one.
    """
    situation = one_line(draft.situation, SITUATION_CHARS)
    mistake = one_line(draft.mistake, MISTAKE_CHARS)
    correction = one_line(draft.correction, CORRECTION_CHARS)
    trigger = one_line(trigger, TAG_CHARS)
    tags = [one_line(tag, TAG_CHARS) for tag in draft.tags]
    ours = ("reflexion", f"trigger:{trigger}")
    tags = [tag for tag in dict.fromkeys(tags) if tag and tag not in ours]
    return Lesson(
        id=_name(workspace, situation, mistake, correction),
        situation=situation,
        mistake=mistake,
        correction=correction,
        trigger=trigger,
        tags=(*tags[: MAX_TAGS - len(ours)], *ours),
        fact=fact_text(situation, mistake, correction, trigger),
        task=one_line(task, TASK_CHARS),
        workspace=workspace,
        source=source,
        distiller=distiller,
        job_id=job_id,
        created_at_ns=now_ns,
        last_seen_at_ns=now_ns,
    )


def manual(text: str, *, workspace: str, source: str, now_ns: int) -> Lesson:
    """Return the lesson that a user dictated: the text is both when it applies and what to do."""
    lesson = from_draft(
        LessonDraft(text, "", text, ()),
        task=text,
        trigger=Trigger.MANUAL,
        workspace=workspace,
        source=source,
        distiller="user",
        job_id="",
        now_ns=now_ns,
    )
    return replace(lesson, tags=(*lesson.tags, "user-supplied"))


def _name(workspace: str, *fields: str) -> LessonId:
    # A workspace is a path: there, case and blanks tell two projects apart.
    named = "\0".join((*(" ".join(field.lower().split()) for field in fields), workspace))
    return LessonId(hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:16])
