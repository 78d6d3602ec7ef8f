"""What any engine must do with lessons."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from reflexiond.model import Done, Lesson, LessonId, LessonVectors, Page, Space, Vector
from reflexiond.store.port import Store

SPACE = Space("test/8", 8)


def vector(*values: float) -> Vector:
    padded = (*values, *([0.0] * (8 - len(values))))
    length = sum(value * value for value in padded) ** 0.5
    return Vector(struct.pack("<8f", *(value / length for value in padded)))


def lesson(n: int, **changes: object) -> Lesson:
    base = Lesson(
        id=LessonId(f"{n:016x}"),
        situation=f"situation {n}",
        mistake="m",
        correction="c",
        trigger="error",
        tags=("alpha", "beta"),
        fact="fact",
        task=f"task {n}",
        workspace="w",
        source="s",
        distiller="h",
        job_id="j",
        created_at_ns=n,
        last_seen_at_ns=n,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def done(n: int, task: Vector, situation: Vector, **changes: object) -> Done:
    return Done(lesson(n, **changes), LessonVectors(SPACE.id, task, situation))


@pytest.fixture
async def filled(store: Store) -> Store:
    await store.open_space(SPACE)
    await store.store_lesson(done(1, vector(1), vector(0, 1), correction="use the zebra flag"))
    await store.store_lesson(done(2, vector(0, 0, 1), vector(1, 1), correction="pin the version"))
    await store.store_lesson(Done(lesson(3, correction="zebra without a vector"), None))
    return store


async def test_a_lesson_comes_back_as_it_was_stored(filled: Store) -> None:
    """Every field survives."""
    [found] = await filled.find_lessons(lesson(1).id, 2)
    assert lesson(1, correction="use the zebra flag") == found


async def test_the_same_lesson_again_reinforces_it(filled: Store) -> None:
    """It is counted, its text stays, and no second row appears."""
    stored = await filled.store_lesson(Done(lesson(1, created_at_ns=99), None))
    assert not stored.new
    [found] = await filled.find_lessons(lesson(1).id, 2)
    assert (2, 99, "use the zebra flag") == (found.seen, found.last_seen_at_ns, found.correction)
    assert 3 == await filled.count_lessons()


async def test_nearest_goes_by_the_better_key_with_exact_cosines(filled: Store) -> None:
    """A lesson is as near as the nearer of its task and its situation."""
    found = await filled.nearest(SPACE, vector(1), 5)
    assert [lesson(1).id, lesson(2).id] == [near.lesson.id for near in found]
    assert pytest.approx(1.0, abs=1e-6) == found[0].task_cosine
    assert pytest.approx(0.5**0.5, abs=1e-6) == found[1].situation_cosine


async def test_matching_finds_by_words_and_tells_cosines_where_there_are_some(
    filled: Store,
) -> None:
    """Text search covers lessons without vectors too."""
    found = await filled.matching(["zebra", "unknown"], 5, SPACE, vector(1))
    cosines = {near.lesson.id: near.task_cosine for near in found}
    assert {lesson(1).id, lesson(3).id} == set(cosines)
    assert None is cosines[lesson(3).id]


async def test_matching_takes_hostile_terms_as_words(filled: Store) -> None:
    """Nothing in a term acts as query syntax."""
    for term in ('"', "OR", "NEAR(", "a*", "col:x", "\x00", "zebra OR pin"):
        await filled.matching([term], 5, None, None)


async def test_document_frequencies_count_lessons(filled: Store) -> None:
    """Each word with the number of lessons it occurs in, and the number of lessons."""
    assert (3, {"zebra": 2, "pin": 1, "none": 0}) == await filled.document_frequencies(
        ["zebra", "pin", "none"]
    )


async def test_lessons_without_vectors_are_listed_until_they_have_some(filled: Store) -> None:
    """Adding vectors makes a lesson findable by them; a second time changes nothing."""
    assert [lesson(3).id] == [found.id for found in await filled.without_vectors(SPACE, 5)]
    for _ in range(2):
        await filled.add_vectors(SPACE, [(lesson(3).id, vector(0, 0, 0, 1), vector(0, 0, 0, 1))])
    assert [] == await filled.without_vectors(SPACE, 5)
    assert lesson(3).id == (await filled.nearest(SPACE, vector(0, 0, 0, 1), 1))[0].lesson.id


async def test_a_deleted_lesson_is_gone_everywhere(filled: Store) -> None:
    """Neither row, vector nor text finds it."""
    assert await filled.delete_lesson(lesson(1).id)
    assert not await filled.delete_lesson(lesson(1).id)
    assert lesson(1).id not in {n.lesson.id for n in await filled.nearest(SPACE, vector(1), 9)}
    assert lesson(1).id not in {
        n.lesson.id for n in await filled.matching(["zebra"], 9, None, None)
    }
    assert 2 == await filled.count_lessons()
    assert 1 == (await filled.document_frequencies(["zebra"]))[1]["zebra"]


async def test_lessons_are_listed_newest_first_in_pages(filled: Store) -> None:
    """A cursor goes on where the page before ended."""
    first, cursor = await filled.list_lessons(Page(2))
    rest, end = await filled.list_lessons(Page(2, cursor))
    assert [lesson(n).id for n in (3, 2, 1)] == [found.id for found in first + rest]
    assert 0 == end
