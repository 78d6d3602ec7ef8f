"""Recall: ranking as arithmetic, and the whole way over a store in memory."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from reflexiond.errors import StoreFailed
from reflexiond.memory import lessons
from reflexiond.memory.embed.port import EmbedderUnavailable, Kind
from reflexiond.memory.keys import Keys
from reflexiond.memory.recall import SAME_WORKSPACE, Recaller, rank
from reflexiond.memory.relevance import BONUS, TEXT_FLOOR
from reflexiond.memory.render import HEADING
from reflexiond.model import Done, Lesson, LessonDraft, Nearness, Space, Vector
from reflexiond.store.sqlite import SqliteStore

FLOOR = 0.5
SUBJECTS = ("cart", "database", "network", "parser")


def lesson(subject: str, n: int = 1, workspace: str = "/w") -> Lesson:
    """Return a lesson about a subject."""
    draft = LessonDraft(
        f"{subject} case {n}", f"{subject} broke", f"mend {subject} {n}", (subject,)
    )
    return lessons.from_draft(
        draft,
        task=f"repair {subject}",
        trigger="error",
        workspace=workspace,
        source="tests",
        distiller="tests",
        job_id="",
        now_ns=n,
    )


def near(cosine: float | None, subject: str = "cart", n: int = 1, workspace: str = "") -> Nearness:
    return Nearness(lesson(subject, n, workspace), cosine, cosine)


def scores(candidates: list[Nearness], workspace: str = "", **weights: float) -> list[float]:
    ranked = rank(candidates, weights, FLOOR, workspace)
    return [round(one.score, 6) for one in ranked]


# Ranking


def test_below_the_floor_there_is_silence() -> None:
    """The floor itself is high enough; anything less is not returned."""
    assert [0.5] == scores([near(0.5), near(0.4999, n=2), near(-1, n=3)])


def test_the_most_relevant_goes_first() -> None:
    """Whatever order the candidates come in."""
    assert [0.9, 0.7, 0.6] == scores([near(0.7), near(0.9, n=2), near(0.6, n=3)])


def test_the_better_key_counts() -> None:
    """Nearness to the task or to the situation, whichever is greater, and it is named."""
    [by_task] = rank([Nearness(lesson("cart"), 0.8, 0.6)], {}, FLOOR, "")
    [by_situation] = rank([Nearness(lesson("cart"), 0.6, 0.8)], {}, FLOOR, "")
    assert (0.8, "task", 0.8, "situation") == (
        by_task.score,
        by_task.key,
        by_situation.score,
        by_situation.key,
    )


def test_shared_words_lift_a_lesson() -> None:
    """Full coverage adds the whole bonus; a lesson that stands by its words is named so."""
    [one] = rank([near(0.4)], {"cart": 1.0}, FLOOR, "")
    assert (round(0.4 + BONUS, 6), "text") == (round(one.score, 6), one.key)
    assert [] == scores([near(0.4)], cart=1.0, elsewhere=9.0)


def test_home_goes_first_among_near_equals() -> None:
    """A lesson of this workspace passes a slightly better one, and keeps its own score."""
    away, home = near(0.71, n=1, workspace="/other"), near(0.70, n=2, workspace="/w")
    assert [0.70, 0.71] == scores([away, home], "/w")
    assert [0.71, 0.70] == scores([away, home], "")
    clearly_better = near(0.70 + 2 * SAME_WORKSPACE, n=3, workspace="/other")
    assert [0.74, 0.70] == scores([home, clearly_better], "/w")


def test_home_lifts_nothing_over_the_floor() -> None:
    """Being of this workspace is no relevance."""
    assert [] == scores([near(FLOOR - SAME_WORKSPACE / 2, workspace="/w")], "/w")


def test_a_lesson_without_vectors_stands_by_its_words() -> None:
    """Coverage of the text floor just reaches the floor of the space."""
    [one] = rank([near(None)], {"cart": TEXT_FLOOR, "elsewhere": 1 - TEXT_FLOOR}, FLOOR, "")
    assert (FLOOR, "text") == (round(one.score, 6), one.key)
    assert [] == scores([near(None)], cart=0.3, elsewhere=0.7)


def test_equals_have_an_order() -> None:
    """Equal candidates come in the same order, however they arrive."""
    candidates = [near(0.7, n=n) for n in range(1, 6)]
    first = [one.lesson.id for one in rank(candidates, {}, FLOOR, "")]
    assert first == [one.lesson.id for one in rank(candidates[::-1], {}, FLOOR, "")]


# The whole way


@dataclass
class FakeEmbedder:
    """Each subject is a direction of its own; a text without one points elsewhere."""

    id: str = "test/8"
    dimensions: int = 8
    floor: float = FLOOR
    loaded: bool = True
    problem: str = ""
    hold: asyncio.Event | None = None
    texts: list[str] = field(default_factory=list)

    async def embed(self, texts: Sequence[str], kind: Kind) -> list[Vector]:  # noqa: ARG002 - the port's
        if self.hold is not None:
            await self.hold.wait()
        if self.problem:
            raise EmbedderUnavailable(self.problem)
        self.texts.extend(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        values = [1.0 if subject in text else 0.0 for subject in SUBJECTS]
        values += [0.0] * (self.dimensions - len(values) - 1) + [0.0 if any(values) else 1.0]
        length = sum(value * value for value in values) ** 0.5
        return Vector(struct.pack(f"<{self.dimensions}f", *(value / length for value in values)))

    async def close(self) -> None:
        self.loaded = False


class Memory:
    """A store in memory with one model, or none."""

    def __init__(self, store: SqliteStore, embedder: FakeEmbedder | None) -> None:
        self.store, self.embedder = store, embedder
        self.keys = Keys(store, embedder)

    async def learn(self, *some: Lesson) -> None:
        for one in some:
            await self.store.store_lesson(Done(one, await self.keys.of_lesson(one)))

    def recaller(self, **options: Any) -> Recaller:
        settings = {"limit": 3, "floor": None, "token_budget": 1_000, **options}
        return Recaller(self.store, self.keys, **settings)


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(None)
    yield opened
    await opened.close()


@pytest.fixture
async def memory(store: SqliteStore) -> AsyncIterator[Memory]:
    made = Memory(store, FakeEmbedder())
    yield made
    await made.keys.close()


@pytest.fixture
async def words(store: SqliteStore) -> AsyncIterator[Memory]:
    """Return a memory without a model."""
    made = Memory(store, None)
    yield made
    await made.keys.close()


async def backfilled(keys: Keys) -> None:
    """Return once older lessons have their vectors."""
    assert keys._backfill is not None
    await asyncio.wait([keys._backfill])


async def test_the_lesson_of_a_like_task_comes_back(memory: Memory) -> None:
    """With its facts, its score, the key that found it, and the section for the agent."""
    learned = lesson("cart")
    await memory.learn(learned, lesson("database"))
    found = await memory.recaller().recall("empty the cart", "/w")
    [one] = found.lessons
    assert (learned.id, learned.correction, learned.tags, "task") == (
        one.id,
        one.correction,
        one.tags,
        one.key,
    )
    assert ("vector+text", FLOOR) == (found.mode, found.floor)
    assert one.score >= 1.0
    assert found.section.startswith(HEADING)
    assert "mend cart 1" in found.section


@pytest.mark.parametrize("task", ["paint the fence", "", " \n ", "the and of"])
async def test_an_unrelated_task_gets_nothing(memory: Memory, task: str) -> None:
    """Silence: no lesson and no section."""
    await memory.learn(*map(lesson, SUBJECTS))
    found = await memory.recaller().recall(task, "/w")
    assert ((), "") == (found.lessons, found.section)
    assert not found


async def test_the_limit_and_the_floor_can_be_asked_for(memory: Memory) -> None:
    """A call's own limit and floor go before the settings, and these before the model."""
    await memory.learn(*(lesson("cart", n) for n in range(1, 6)))
    recaller = memory.recaller(limit=2, floor=0.9)
    found = await recaller.recall("cart", "/w")
    assert (2, 0.9) == (len(found.lessons), found.floor)
    assert 4 == len((await recaller.recall("cart", "/w", limit=4)).lessons)
    nothing = await recaller.recall("cart", "/w", floor=1.31)
    assert ((), 1.31) == (nothing.lessons, nothing.floor)


async def test_home_lessons_go_first(memory: Memory) -> None:
    """Of equal lessons, that of the asking workspace leads."""
    for n, workspace in enumerate(["/a", "/b", "/c"]):
        await memory.learn(lesson("cart", n, workspace))
    for workspace in ("/a", "/b", "/c"):
        found = await memory.recaller().recall("cart", workspace)
        assert workspace == found.lessons[0].workspace


async def test_a_small_budget_shows_fewer_lessons(memory: Memory) -> None:
    """The section keeps to the token budget; the lessons are still listed."""
    await memory.learn(lesson("cart", 1), lesson("cart", 2))
    found = await memory.recaller(token_budget=80).recall("cart", "/w")
    assert (2, 1) == (len(found.lessons), found.section.count("Do:"))


async def test_without_a_model_words_decide(words: Memory) -> None:
    """Text mode: shared words find a lesson, its own floor applies, and the reason is told."""
    await words.learn(lesson("cart"), lesson("database"))
    found = await words.recaller().recall("repair the cart", "/w")
    assert ("text", TEXT_FLOOR) == (found.mode, found.floor)
    assert [("text", "mend cart 1")] == [(one.key, one.correction) for one in found.lessons]
    assert not await words.recaller().recall("paint the fence", "/w")
    assert "off" == words.keys.describe()["state"]


async def test_a_model_that_cannot_be_loaded_is_done_without(memory: Memory) -> None:
    """Lessons are stored and found by their words, and the reason stands in the status."""
    assert memory.embedder is not None
    memory.embedder.problem = "model.onnx is missing"
    await memory.learn(lesson("cart"))
    found = await memory.recaller().recall("repair the cart", "/w")
    assert ("text", 1) == (found.mode, len(found.lessons))
    expected = {"id": "test/8", "state": "unavailable", "reason": "model.onnx is missing"}
    assert expected == memory.keys.describe()
    memory.embedder.problem = ""
    assert "vector+text" == (await memory.recaller().recall("cart", "/w")).mode
    assert "ready" == memory.keys.describe()["state"]


async def test_a_slow_model_is_not_waited_for(memory: Memory) -> None:
    """Past the caller's wait, words alone decide."""
    assert memory.embedder is not None
    await memory.learn(lesson("cart"))
    memory.embedder.hold = asyncio.Event()
    found = await memory.recaller().recall("repair the cart", "/w", wait_s=0.001)
    assert ("text", 1) == (found.mode, len(found.lessons))


async def test_older_lessons_get_their_vectors(store: SqliteStore, words: Memory) -> None:
    """Lessons stored without a model are found by meaning once there is one."""
    old = [lesson("cart", n) for n in range(40)]
    await words.learn(*old)
    later = Memory(store, FakeEmbedder())
    await later.learn(lesson("database"))
    await backfilled(later.keys)
    space = Space("test/8", 8)
    assert [] == await store.without_vectors(space, 100)
    found = await later.recaller().recall("cart", "/w", limit=50)
    assert {one.id for one in old} >= {one.id for one in found.lessons}
    assert {"task"} == {one.key for one in found.lessons}
    await later.keys.close()


async def test_a_new_model_embeds_everything_anew(store: SqliteStore, memory: Memory) -> None:
    """Spaces are kept apart: lessons of the old one are embedded again for the new one."""
    await memory.learn(lesson("cart"))
    new = Memory(store, FakeEmbedder(id="test/16", dimensions=16))
    await new.recaller().recall("anything", "/w")
    await backfilled(new.keys)
    assert "repair cart" in (new.embedder.texts if new.embedder else [])
    assert 1 == len((await new.recaller().recall("cart", "/w")).lessons)
    await new.keys.close()


async def test_a_model_lost_during_the_backfill_leaves_the_rest_for_later(
    store: SqliteStore, words: Memory
) -> None:
    """The lessons that were not reached are still found by their words."""
    await words.learn(lesson("cart"))
    later = Memory(store, FakeEmbedder())
    assert await later.keys.of_query("cart") is not None
    assert later.embedder is not None
    later.embedder.problem = "out of memory"
    await backfilled(later.keys)
    later.embedder.problem = ""
    found = await later.recaller().recall("repair the cart", "/w")
    assert ["text"] == [one.key for one in found.lessons]
    await later.keys.close()


class NoRoom(SqliteStore):
    """A store that cannot open an embedding space."""

    async def open_space(self, space: Space) -> None:  # noqa: ARG002 - the port's
        raise StoreFailed("the disk is full", full=True)


async def test_a_store_without_room_for_vectors_costs_no_lesson(store: SqliteStore) -> None:
    """A lesson then has no vectors, instead of being lost as a crash of its processor."""
    keys = Keys(NoRoom(store.database, store.database), FakeEmbedder())
    assert None is await keys.of_lesson(lesson("cart"))
    assert None is await keys.of_query("cart")
    assert "the disk is full" == keys.describe()["reason"]
    await keys.close()


async def test_closing_the_keys_stops_the_backfill(store: SqliteStore, words: Memory) -> None:
    """Closing is idempotent, and gives the model back in the middle of the work."""
    await words.learn(lesson("cart"))
    embedder = FakeEmbedder()
    keys = Keys(store, embedder)
    await keys.of_query("cart")
    embedder.hold = asyncio.Event()
    await keys.close()
    await keys.close()
    assert not embedder.loaded
