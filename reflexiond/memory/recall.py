"""Recall: find the few lessons that fit a task, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reflexion_client.model import Recall, RecalledLesson
from reflexiond.model import Lesson, Nearness, Space, Vector
from reflexiond.store.port import MemoryStore

from .keys import Keys
from .relevance import TEXT_FLOOR, coverage, idf, score, text_score
from .render import RenderedLesson, render
from .terms import content_terms

CANDIDATES = 32
"""How many lessons each kind of search hands to the ranking."""
QUERY_CHARS = 2_000
COMMON_SHARE = 0.02
COMMON_LEAST = 500
"""A word that stands in more than this share of the lessons (and in this many at least)
finds too many to help."""
SEARCH_TERMS = 12
SAME_WORKSPACE = 0.02
"""What a lesson of the same workspace gains in rank; it never lifts one over the floor."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A lesson with its relevance, and the key that found it: task, situation, or text."""

    lesson: Lesson
    score: float
    key: str


class Recaller:
    """Answers what was learned about a task like this one.

    Args:
        store: where lessons live.
        keys: embeds the query.
        limit: how many lessons at the most, by default.
        floor: the least relevance; None leaves it to the embedding space.
        token_budget: the most that the rendered section takes.
    """

    def __init__(
        self, store: MemoryStore, keys: Keys, *, limit: int, floor: float | None, token_budget: int
    ) -> None:
        self._store = store
        self._keys = keys
        self._limit = limit
        self._floor = floor
        self._token_budget = token_budget

    async def recall(
        self,
        task: str,
        workspace: str,
        limit: int | None = None,
        floor: float | None = None,
        wait_s: float | None = None,
    ) -> Recall:
        """Return the lessons that fit `task`, best first; an empty answer when none does.

        Args:
            task: what is about to be done.
            workspace: lessons of this project go first among near equals.
            limit: the most lessons; None: the default.
            floor: the least relevance; None: the default.
            wait_s: how long to wait for the embedding model before words alone decide.
        """
        query = " ".join(task[:QUERY_CHARS].split())
        if not query:
            return Recall()
        embedded, (total, frequencies) = await asyncio.gather(
            self._keys.of_query(query, wait_s),
            self._store.document_frequencies(content_terms(query)),
        )
        least = self._least(floor, vectors=embedded is not None)
        weights = {term: idf(total, frequency) for term, frequency in frequencies.items()}
        found = await self._candidates(embedded, _searchable(frequencies, total))
        ranked = rank(found, weights, least, workspace)[: self._limit if limit is None else limit]
        return Recall(
            lessons=tuple(_recalled(one) for one in ranked),
            section=render([_rendered(one.lesson) for one in ranked], self._token_budget),
            mode="vector+text" if embedded else "text",
            floor=least,
        )

    def _least(self, floor: float | None, *, vectors: bool) -> float:
        if floor is not None:
            return floor
        if self._floor is not None:
            return self._floor
        embedder = self._keys.embedder
        return embedder.floor if embedder is not None and vectors else TEXT_FLOOR

    async def _candidates(
        self, embedded: tuple[Space, Vector] | None, terms: Sequence[str]
    ) -> list[Nearness]:
        space, vector = embedded or (None, None)
        searches = [self._store.matching(terms, CANDIDATES, space, vector)]
        if embedded is not None:
            searches.append(self._store.nearest(*embedded, CANDIDATES))
        found = await asyncio.gather(*searches)
        return list({near.lesson.id: near for some in found for near in some}.values())


def _searchable(frequencies: Mapping[str, int], total: int) -> list[str]:
    """Return the known words worth searching for, rarest first.

    A word that many lessons share costs a long walk through the index and says little;
    while there are few lessons every known word is searched.
    """
    most = max(total * COMMON_SHARE, COMMON_LEAST)
    known = [term for term, frequency in frequencies.items() if 0 < frequency <= most]
    return sorted(known, key=lambda term: (frequencies[term], term))[:SEARCH_TERMS]


def rank(
    candidates: Iterable[Nearness], weights: Mapping[str, float], floor: float, workspace: str
) -> list[Ranked]:
    """Return the candidates at or above the floor, most relevant first. Pure.

    Args:
        candidates: lessons with their cosines to the query, None where there is no vector.
        weights: the query's content words with their inverse document frequencies.
        floor: the least relevance.
        workspace: lessons of this one go first among near equals.
    """
    ranked = [one for near in candidates if (one := _judge(near, weights, floor)).score >= floor]

    def standing(one: Ranked) -> tuple[float, str]:
        home = SAME_WORKSPACE if workspace and one.lesson.workspace == workspace else 0.0
        return -(one.score + home), one.lesson.id

    return sorted(ranked, key=standing)


def _judge(near: Nearness, weights: Mapping[str, float], floor: float) -> Ranked:
    lesson = near.lesson
    text = " ".join(
        (lesson.task, lesson.situation, lesson.mistake, lesson.correction, *lesson.tags)
    )
    covered = coverage(list(weights), set(content_terms(text, limit=10_000)), weights)
    if near.task_cosine is None or near.situation_cosine is None:
        return Ranked(lesson, text_score(covered, floor), "text")
    key = "task" if near.task_cosine >= near.situation_cosine else "situation"
    cosine = max(near.task_cosine, near.situation_cosine)
    return Ranked(lesson, score(cosine, covered), key if cosine >= floor else "text")


def _recalled(one: Ranked) -> RecalledLesson:
    lesson = one.lesson
    return RecalledLesson(
        id=lesson.id,
        score=round(one.score, 4),
        situation=lesson.situation,
        mistake=lesson.mistake,
        correction=lesson.correction,
        trigger=lesson.trigger,
        tags=lesson.tags,
        workspace=lesson.workspace,
        source=lesson.source,
        key=one.key,
    )


def _rendered(lesson: Lesson) -> RenderedLesson:
    return RenderedLesson(
        situation=lesson.situation,
        mistake=lesson.mistake,
        correction=lesson.correction,
        trigger=lesson.trigger,
        tags=lesson.tags,
        source=lesson.source,
        workspace=lesson.workspace,
    )
