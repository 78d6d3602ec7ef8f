"""The SQL of lessons, their text index and their vectors: functions of a connection."""

from __future__ import annotations

import json
from collections.abc import Sequence

from reflexiond.model import (
    Done,
    Lesson,
    LessonId,
    LessonVectors,
    Nearness,
    Page,
    Space,
    Vector,
)
from reflexiond.store.port import Stored

from .driver import Connection, Row

COARSE_LEAST, COARSE_SHARE, COARSE_MOST = 64, 1 / 500, 4096
"""How many candidates the quantised first pass hands to the exact second one, per key: a
share of the lessons, since the more there are, the more stand nearer by chance. sqlite-vec
takes 4,096 at the most."""

_LESSON = """lessons.seq, lessons.id, situation, mistake, correction, "trigger", tags, fact, task,
  workspace, source, distiller, job_id, created_at_ns, category, last_seen_at_ns, seen"""
_TEXT = "task, situation, mistake, correction, tags"


def _lesson(row: Row) -> Lesson:
    _, lesson_id, situation, mistake, correction, trigger, tags, *rest = row
    return Lesson(
        LessonId(lesson_id), situation, mistake, correction, trigger, tuple(json.loads(tags)), *rest
    )


def store(conn: Connection, done: Done) -> Stored:
    """Insert a lesson with its keys, or reinforce the one of the same id."""
    lesson = done.lesson
    reinforced = conn.execute(
        "UPDATE lessons SET seen = seen + 1, last_seen_at_ns = max(last_seen_at_ns, ?)"
        " WHERE id = ?",
        (lesson.created_at_ns, lesson.id),
    )
    if reinforced.rowcount:
        return Stored(lesson.id, new=False)
    tags = " ".join(lesson.tags)
    seq = conn.execute(
        'INSERT INTO lessons (id, situation, mistake, correction, "trigger", tags, category,'
        " fact, task, workspace, source, distiller, job_id, created_at_ns, last_seen_at_ns, seen)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (
            lesson.id,
            lesson.situation,
            lesson.mistake,
            lesson.correction,
            lesson.trigger,
            json.dumps(lesson.tags, ensure_ascii=False),
            lesson.category,
            lesson.fact,
            lesson.task,
            lesson.workspace,
            lesson.source,
            lesson.distiller,
            lesson.job_id,
            lesson.created_at_ns,
            lesson.created_at_ns,
        ),
    ).lastrowid
    conn.execute(
        f"INSERT INTO lessons_text (rowid, {_TEXT}) VALUES (?, ?, ?, ?, ?, ?)",
        (seq, lesson.task, lesson.situation, lesson.mistake, lesson.correction, tags),
    )
    if done.vectors is not None:
        add_vectors(conn, done.vectors, seq)
    return Stored(lesson.id, new=True)


def open_space(conn: Connection, space: Space) -> None:
    """Make the tables of an embedding space, unless they are there.

    `vectors_<n>` holds both keys of each lesson, the truth of the space. `signs_<n>` is
    what is searched: one bit a dimension is a thirtieth to read, and good enough to choose
    whom to compare exactly.
    """
    conn.execute(
        "INSERT INTO spaces (id, dimensions) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
        (space.id, space.dimensions),
    )
    number = _number(conn, space.id)
    conn.execute(
        f"CREATE TABLE IF NOT EXISTS vectors_{number} ("
        "lesson INTEGER PRIMARY KEY, task BLOB NOT NULL, situation BLOB NOT NULL) STRICT"
    )
    conn.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS signs_{number} USING vec0 (lesson INTEGER PRIMARY KEY,"
        f" task BIT[{space.dimensions}], situation BIT[{space.dimensions}])"
    )


def _number(conn: Connection, space_id: str) -> int:
    row = conn.execute("SELECT seq FROM spaces WHERE id = ?", (space_id,)).fetchone()
    return int(row[0])


def add_vectors(conn: Connection, vectors: LessonVectors, seq: int) -> None:
    """Store the keys of a lesson's row in their space."""
    number = _number(conn, vectors.space)
    keys = (seq, vectors.task, vectors.situation)
    conn.execute(f"INSERT INTO vectors_{number} (lesson, task, situation) VALUES (?, ?, ?)", keys)
    conn.execute(
        f"INSERT INTO signs_{number} (lesson, task, situation)"
        " VALUES (?, vec_quantize_binary(?), vec_quantize_binary(?))",
        keys,
    )


def add_missing_vectors(
    conn: Connection, space: Space, rows: Sequence[tuple[LessonId, Vector, Vector]]
) -> None:
    """Store keys for lessons that were stored without; a lesson deleted meanwhile is skipped."""
    for lesson_id, task, situation in rows:
        found = conn.execute("SELECT seq FROM lessons WHERE id = ?", (lesson_id,)).fetchone()
        if found and not _has_vectors(conn, space, found[0]):
            add_vectors(conn, LessonVectors(space.id, task, situation), found[0])


def _has_vectors(conn: Connection, space: Space, seq: int) -> bool:
    row = conn.execute(
        f"SELECT 1 FROM vectors_{_number(conn, space.id)} WHERE lesson = ?", (seq,)
    ).fetchone()
    return row is not None


def without_vectors(conn: Connection, space: Space, limit: int) -> list[Lesson]:
    """Return lessons that the space does not hold yet, oldest first."""
    rows = conn.execute(
        f"SELECT {_LESSON} FROM lessons WHERE seq NOT IN"
        f" (SELECT lesson FROM vectors_{_number(conn, space.id)}) ORDER BY seq LIMIT ?",
        (limit,),
    )
    return [_lesson(row) for row in rows.fetchall()]


def nearest(conn: Connection, space: Space, query: Vector, limit: int) -> list[Nearness]:
    """Return the lessons nearest to `query` by either key, best first, with exact cosines."""
    number = _number(conn, space.id)
    lessons = conn.execute("SELECT n FROM counters WHERE name = 'lessons'").fetchone()[0]
    coarse = min(max(int(lessons * COARSE_SHARE), COARSE_LEAST, 2 * limit), COARSE_MOST)
    candidates: set[int] = set()
    for key in ("task", "situation"):
        candidates.update(
            row[0]
            for row in conn.execute(
                f"SELECT lesson FROM signs_{number}"
                f" WHERE {key} MATCH vec_quantize_binary(?) AND k = ?",
                (query, coarse),
            )
        )
    cosines = _cosines(conn, number, query, sorted(candidates))
    best = sorted(cosines, key=lambda seq: (-max(cosines[seq]), seq))[:limit]
    return _with_lessons(conn, best, cosines)


def matching(
    conn: Connection, terms: Sequence[str], limit: int, space: Space | None, query: Vector | None
) -> list[Nearness]:
    """Return the lessons that best match any of the terms by BM25."""
    if not terms:
        return []
    # A quoted string is a string to FTS5, whatever it holds; it just cannot hold NUL.
    quoted = (term.replace("\0", " ").replace('"', '""') for term in terms)
    expression = " OR ".join(f'"{term}"' for term in quoted)
    rows = conn.execute(
        "SELECT rowid FROM lessons_text WHERE lessons_text MATCH ? ORDER BY rank LIMIT ?",
        (expression, limit),
    ).fetchall()
    seqs = [row[0] for row in rows]
    cosines: dict[int, tuple[float, float]] = {}
    if space is not None and query is not None:
        cosines = _cosines(conn, _number(conn, space.id), query, seqs)
    return _with_lessons(conn, seqs, cosines)


def _cosines(
    conn: Connection, number: int, query: Vector, seqs: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """Return the exact cosines of a few lessons to a vector, by task and by situation."""
    marks = ", ".join("?" * len(seqs))
    rows = conn.execute(
        "SELECT lesson, 1 - vec_distance_cosine(task, ?1), 1 - vec_distance_cosine(situation, ?1)"
        f" FROM vectors_{number} WHERE lesson IN ({marks})",
        (query, *seqs),
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def _with_lessons(
    conn: Connection, seqs: Sequence[int], cosines: dict[int, tuple[float, float]]
) -> list[Nearness]:
    marks = ", ".join("?" * len(seqs))
    rows = conn.execute(f"SELECT {_LESSON} FROM lessons WHERE seq IN ({marks})", tuple(seqs))
    by_seq = {row[0]: _lesson(row) for row in rows.fetchall()}
    return [Nearness(by_seq[seq], *cosines.get(seq, (None, None))) for seq in seqs if seq in by_seq]


def document_frequencies(conn: Connection, terms: Sequence[str]) -> dict[str, int]:
    """Return in how many lessons each term occurs."""
    found = {}
    for term in terms:
        row = conn.execute("SELECT doc FROM lessons_terms WHERE term = ?", (term,)).fetchone()
        found[term] = row[0] if row else 0
    return found


def list_lessons(conn: Connection, page: Page) -> tuple[list[Lesson], int]:
    """Return lessons, newest first, and the cursor of the next page (0: none)."""
    rows = conn.execute(
        f"SELECT {_LESSON} FROM lessons WHERE ? IS NULL OR seq < ? ORDER BY seq DESC LIMIT ?",
        (page.after, page.after, page.limit),
    ).fetchall()
    return [_lesson(row) for row in rows], rows[-1][0] if len(rows) == page.limit else 0


def find(conn: Connection, prefix: str, limit: int) -> list[Lesson]:
    """Return lessons whose id starts with `prefix`."""
    rows = conn.execute(
        f"SELECT {_LESSON} FROM lessons WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )
    return [_lesson(row) for row in rows.fetchall()]


def delete(conn: Connection, lesson_id: LessonId) -> bool:
    """Delete a lesson from rows, vectors and text index."""
    row = conn.execute("SELECT seq FROM lessons WHERE id = ?", (lesson_id,)).fetchone()
    if row is None:
        return False
    conn.execute("DELETE FROM lessons_text WHERE rowid = ?", row)
    for (number,) in conn.execute("SELECT seq FROM spaces").fetchall():
        conn.execute(f"DELETE FROM vectors_{number} WHERE lesson = ?", row)
        conn.execute(f"DELETE FROM signs_{number} WHERE lesson = ?", row)
    conn.execute("DELETE FROM lessons WHERE seq = ?", row)
    return True
