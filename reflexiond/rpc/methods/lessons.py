"""recall, and lessons.remember, list, show, delete."""

from __future__ import annotations

from dataclasses import asdict

from reflexion_client.errors import AmbiguousId, BadParams, NotFound
from reflexiond.memory import lessons
from reflexiond.model import Done, Lesson, Page
from reflexiond.rpc.params import MAX_PAGE, Params
from reflexiond.rpc.services import Json, Services

MAX_LIMIT = 20
LONGEST_WAIT_S = 60.0
MAX_MANUAL_CHARS = 4_000
_NAMED = 5


async def recall(services: Services, params: Params) -> Json:
    """Find the lessons that fit a task."""
    found = await services.recaller.recall(
        params.text("task"),
        params.text("workspace", ""),
        params.integer("limit", low=1, high=MAX_LIMIT),
        params.number("floor", low=-1, high=2),
        params.number("wait_s", low=0, high=LONGEST_WAIT_S),
    )
    return asdict(found)


async def remember(services: Services, params: Params) -> Json:
    """Store a user's own words as a lesson, at once and without asking a model."""
    text = params.text("text").strip()
    if not text:
        raise BadParams("`text` is empty: say what is to be remembered")
    if len(text) > MAX_MANUAL_CHARS:
        raise BadParams(
            f"`text` is {len(text)} characters, the limit is {MAX_MANUAL_CHARS}: "
            "a lesson is one thing in a few sentences"
        )
    lesson = lessons.manual(
        text,
        workspace=params.text("workspace", ""),
        source=params.text("source", ""),
        now_ns=services.clock.now_ns(),
    )
    if not services.persist:
        return {"id": lesson.id, "fact": lesson.fact, "new": False}
    stored = await services.store.store_lesson(Done(lesson, await services.keys.of_lesson(lesson)))
    return {"id": stored.lesson_id, "fact": lesson.fact, "new": stored.new}


async def list_lessons(services: Services, params: Params) -> Json:
    """List lessons, newest first."""
    limit = params.integer("limit", low=1, high=MAX_PAGE) or 50
    found, cursor = await services.store.list_lessons(
        Page(limit, params.integer("after", low=0, high=2**63 - 1))
    )
    return {
        "lessons": [lesson_map(lesson) for lesson in found],
        "next": cursor or None,
        "total": await services.store.count_lessons(),
    }


async def show(services: Services, params: Params) -> Json:
    """Show one lesson by id or unique prefix."""
    return {"lesson": lesson_map(await _one(services, params.text("id")))}


async def delete(services: Services, params: Params) -> Json:
    """Delete one lesson by id or unique prefix."""
    lesson = await _one(services, params.text("id"))
    await services.store.delete_lesson(lesson.id)
    return {"deleted": lesson.id}


async def _one(services: Services, prefix: str) -> Lesson:
    prefix = prefix.strip().lower()
    found = await services.store.find_lessons(prefix, _NAMED) if prefix else []
    exact = [lesson for lesson in found if lesson.id == prefix]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if not found:
        raise NotFound(f"no lesson has the id {prefix!r}")
    raise AmbiguousId(
        f"the id {prefix!r} fits several lessons", {"matches": [lesson.id for lesson in found]}
    )


def lesson_map(lesson: Lesson) -> Json:
    """Return a lesson as it travels."""
    return asdict(lesson)
