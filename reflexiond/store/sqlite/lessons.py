"""The SQL of lessons, their text index and their vectors: functions of a connection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

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

COARSE = 400
"""How many candidates the quantised first pass hands to the exact second one, per key."""

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
    """Make the table of an embedding space, unless it is there.

    The bit columns are the vectors' signs: comparing them is thirty times less to read
    than comparing floats, and good enough to choose whom to compare exactly.
    """
    conn.execute(
        "INSERT INTO spaces (id, dimensions) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
        (space.id, space.dimensions),
    )
    n = space.dimensions
    conn.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {_table(conn, space.id)} USING vec0 ("
        "lesson INTEGER PRIMARY KEY,"
        f" task FLOAT[{n}] distance_metric=cosine, situation FLOAT[{n}] distance_metric=cosine,"
        f" task_signs BIT[{n}], situation_signs BIT[{n}])"
    )


def _table(conn: Connection, space_id: str) -> str:
    row = conn.execute("SELECT seq FROM spaces WHERE id = ?", (space_id,)).fetchone()
    return f"vectors_{int(row[0])}"


def _tables(conn: Connection) -> list[str]:
    return [f"vectors_{int(row[0])}" for row in conn.execute("SELECT seq FROM spaces").fetchall()]


def add_vectors(conn: Connection, vectors: LessonVectors, seq: int) -> None:
    """Store the keys of a lesson's row in their space."""
    conn.execute(
        f"INSERT INTO {_table(conn, vectors.space)}"
        " (lesson, task, situation, task_signs, situation_signs)"
        " VALUES (?, ?, ?, vec_quantize_binary(?), vec_quantize_binary(?))",
        (seq, vectors.task, vectors.situation, vectors.task, vectors.situation),
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
        f"SELECT 1 FROM {_table(conn, space.id)} WHERE lesson = ?", (seq,)
    ).fetchone()
    return row is not None


def without_vectors(conn: Connection, space: Space, limit: int) -> list[Lesson]:
    """Return lessons that the space does not hold yet, oldest first."""
    # The rows behind a vec0 table stand in its shadow table: a plain, fast lookup.
    rows = conn.execute(
        f"SELECT {_LESSON} FROM lessons WHERE seq NOT IN"
        f" (SELECT rowid FROM {_table(conn, space.id)}_rowids) ORDER BY seq LIMIT ?",
        (limit,),
    )
    return [_lesson(row) for row in rows.fetchall()]


def nearest(conn: Connection, space: Space, query: Vector, limit: int) -> list[Nearness]:
    """Return the lessons nearest to `query` by either key, best first, with exact cosines."""
    table = _table(conn, space.id)
    candidates: set[int] = set()
    for key in ("task", "situation"):
        candidates.update(
            row[0]
            for row in conn.execute(
                f"SELECT lesson FROM {table}"
                f" WHERE {key}_signs MATCH vec_quantize_binary(?) AND k = ?",
                (query, max(COARSE, limit)),
            )
        )
    cosines = _cosines(conn, table, query, candidates)
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
        cosines = _cosines(conn, _table(conn, space.id), query, seqs)
    return _with_lessons(conn, seqs, cosines)


def _cosines(
    conn: Connection, table: str, query: Vector, seqs: Iterable[int]
) -> dict[int, tuple[float, float]]:
    """Return the exact cosines of a few lessons to a vector, by task and by situation."""
    found = {}
    for seq in seqs:
        row = conn.execute(
            f"SELECT 1 - vec_distance_cosine(task, ?1), 1 - vec_distance_cosine(situation, ?1)"
            f" FROM {table} WHERE lesson = ?2",
            (query, seq),
        ).fetchone()
        if row is not None:
            found[seq] = (row[0], row[1])
    return found


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
    for table in _tables(conn):
        conn.execute(f"DELETE FROM {table} WHERE lesson = ?", row)
    conn.execute("DELETE FROM lessons WHERE seq = ?", row)
    return True
