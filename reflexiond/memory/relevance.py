"""How relevant a lesson is to a task, on one absolute scale. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

BONUS = 0.3
"""What full coverage adds to the cosine."""
COVERAGE_THRESHOLD = 0.3
"""Coverage up to here is what unrelated texts share by chance, and adds nothing."""


def idf(document_count: int, document_frequency: int) -> float:
    """Weigh a term by how rare it is: `ln(1 + (N - n + 0.5) / (n + 0.5))`, always positive.

    `document_frequency` (n) of the `document_count` (N) documents contain it. The formula
    is that of BM25 (Robertson and Zaragoza, 2009), with 1 added so that no term counts
    against a lesson.
    """
    frequency = min(document_frequency, document_count)
    return math.log1p((document_count - frequency + 0.5) / (frequency + 0.5))


def coverage(
    query_terms: Collection[str], lesson_terms: Collection[str], idf: Mapping[str, float]
) -> float:
    """Give the share (0 to 1) of the query's content words that a lesson contains.

    Words weigh by `idf`, which holds every query term. 0 for a query without content words.
    """
    total = sum(idf[term] for term in query_terms)
    if not total:
        return 0.0
    return sum(idf[term] for term in query_terms if term in lesson_terms) / total


def score(cosine: float, coverage: float) -> float:
    """Combine nearness in meaning and in words: -1 to 1.3, compared with a space's floor.

    `cosine` is the larger one of the query's cosines to the lesson's task and situation.
    Shared words only ever add, and only beyond `COVERAGE_THRESHOLD`: prose ranks by cosine
    alone, while a bare identifier or error code, which no embedding knows, gets a lift.
    """
    shared = max(0.0, (coverage - COVERAGE_THRESHOLD) / (1.0 - COVERAGE_THRESHOLD))
    return cosine + BONUS * shared


TEXT_FLOOR = 0.4
"""The coverage that stands for relevance where there is no vector to compare."""


def text_score(coverage: float, floor: float) -> float:
    """Give the score of a lesson known by its words alone, on the scale of `floor`.

    Coverage of `TEXT_FLOOR` just reaches the floor, so that one comparison serves
    lessons with and without vectors.
    """
    return floor * coverage / TEXT_FLOOR
