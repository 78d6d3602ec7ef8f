"""Relevance: the arithmetic, and what the built-in model's floor lets through."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from reflexiond.memory.embed.onnx import BUILTIN_FLOOR, OnnxEmbedder, builtin_model
from reflexiond.memory.relevance import TEXT_FLOOR, coverage, idf, score, text_score
from reflexiond.memory.terms import content_terms, tokens

PAIRS = Path(__file__).parents[1] / "fixtures" / "recall" / "pairs.jsonl"


def test_a_rare_term_weighs_more_than_a_common_one():
    """The weight falls with the number of documents that hold the term, and stays positive."""
    weights = [idf(1000, frequency) for frequency in (0, 1, 10, 500, 1000)]
    assert sorted(weights, reverse=True) == weights
    assert weights[-1] > 0


def test_idf_by_example():
    """Of 10 documents, 2 hold the term: ln(1 + 8.5 / 2.5)."""
    assert idf(10, 2) == pytest.approx(1.4816, abs=1e-4)


@given(count=st.integers(0, 10**9), frequency=st.integers(0, 10**9))
def test_idf_is_positive_for_any_counts(count, frequency):
    """Counts that changed between two reads (more holders than documents) do no harm."""
    assert idf(count, frequency) > 0


def test_coverage_is_the_weighted_share():
    """Of weight 3 + 1, the lesson holds the term of weight 3."""
    assert coverage(["cart", "total"], {"cart", "price"}, {"cart": 3.0, "total": 1.0}) == 0.75


def test_coverage_of_nothing_is_zero():
    """A query without content words covers nothing, and does not divide by zero."""
    assert coverage([], {"cart"}, {}) == 0.0


@pytest.mark.parametrize(
    ("cosine", "covered", "expected"),
    [(0.5, 0.0, 0.5), (0.5, 0.3, 0.5), (0.5, 0.65, 0.65), (0.5, 1.0, 0.8), (-0.2, 1.0, 0.1)],
)
def test_score_adds_for_shared_words_beyond_chance(cosine, covered, expected):
    """The bonus is linear from coverage 0.3 (nothing) to 1 (0.3)."""
    assert score(cosine, covered) == pytest.approx(expected)


@given(cosine=st.floats(-1, 1), covered=st.floats(0, 1))
def test_shared_words_never_count_against_a_lesson(cosine, covered):
    """The score lies between the cosine and the cosine plus the bonus."""
    assert cosine <= score(cosine, covered) <= cosine + 0.3 + 1e-9


@given(floor=st.floats(0.1, 0.9))
def test_words_alone_reach_the_floor_at_their_own_floor(floor):
    """Coverage of TEXT_FLOOR falls on the floor of the space, less lies below."""
    assert text_score(TEXT_FLOOR, floor) == pytest.approx(floor)
    assert text_score(TEXT_FLOOR * 0.9, floor) < floor


@dataclass(frozen=True)
class Found:
    """The lessons for one task of the labelled set: (score, lesson id), best first."""

    kind: str
    task: str
    wanted: str | None
    ranked: list[tuple[float, str]]

    @property
    def first(self) -> float:
        return self.ranked[0][0]

    @property
    def answered(self) -> bool:
        shown = [name for value, name in self.ranked[:3] if value >= BUILTIN_FLOOR]
        return self.wanted in shown


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[OnnxEmbedder]:
    """Give the built-in model."""
    model = OnnxEmbedder(builtin_model())
    await model.preload()  # its thread belongs to the module, not to the first test
    yield model
    await model.close()


async def _judge(embedder: OnnxEmbedder) -> list[Found]:
    rows = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    lessons = [row for row in rows if row["kind"] == "lesson"]
    held = [
        set(tokens(" ".join(row[key] for key in ("task", "situation", "mistake", "correction"))))
        for row in lessons
    ]

    async def vectors(texts: list[str]) -> np.ndarray:
        return np.stack(
            [np.frombuffer(each, "<f4") for each in await embedder.embed(texts, "query")]
        )

    tasks = await vectors([row["task"] for row in lessons])
    situations = await vectors([row["situation"] for row in lessons])
    found = []
    for row in rows[len(lessons) :]:
        terms = content_terms(row["task"])
        weights = {term: idf(len(lessons), sum(term in each for each in held)) for term in terms}
        [query] = await vectors([row["task"]])
        cosines = np.maximum(tasks @ query, situations @ query)
        scores = [
            (score(float(cosine), coverage(terms, words, weights)), lesson["id"])
            for cosine, words, lesson in zip(cosines, held, lessons, strict=True)
        ]
        found.append(
            Found(row["kind"], row["task"], row.get("lesson"), sorted(scores, reverse=True))
        )
    return found


@pytest.mark.asyncio(loop_scope="module")
async def test_the_builtin_floor_separates_related_from_unrelated_tasks(embedder):
    """At most 5 % of unrelated tasks get anything; most reworded ones find their lesson."""
    found = await _judge(embedder)
    unrelated = [each for each in found if each.kind == "unrelated"]
    answerable = [each for each in found if each.kind == "answerable"]
    disturbed = [(each.task, each.ranked[0]) for each in unrelated if each.first >= BUILTIN_FLOOR]
    missed = [(each.task, each.ranked[:3]) for each in answerable if not each.answered]
    assert len(disturbed) <= 0.05 * len(unrelated), disturbed
    assert len(missed) <= 0.15 * len(answerable), missed


def test_the_labelled_set_is_sound():
    """Every answerable task names a lesson of the set, and no text stands twice."""
    rows = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    names = [row["id"] for row in rows if row["kind"] == "lesson"]
    tasks = [row["task"] for row in rows]
    assert len(set(names)) == len(names) >= 40
    assert len(set(tasks)) == len(tasks)
    assert {row["lesson"] for row in rows if row["kind"] == "answerable"} <= set(names)
    assert len({row["domain"] for row in rows if row["kind"] == "lesson"}) >= 12
