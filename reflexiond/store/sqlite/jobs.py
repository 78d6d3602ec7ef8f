"""The SQL of jobs, failures and history. Plain functions that take a connection."""

from __future__ import annotations

from reflexion_client.model import LessonRequest
from reflexiond.model import (
    Admission,
    Claim,
    Ending,
    HistoryEntry,
    Job,
    JobId,
    JobState,
    LessonId,
    NewJob,
    Page,
    QueueCounts,
)
from reflexiond.store.port import Added, Failure

from .driver import Connection, Row

BATCH = 1000
"""The most rows that a sweeping verb touches in one transaction."""
FAILURES_KEPT = 20
HISTORY_TEXT = 200
"""How much of a task the history keeps, in characters."""

_JOB = """seq, id, CASE WHEN claim IS NULL THEN state ELSE 'running' END, task, attempt, outcome,
  "trigger", workspace, source, enqueued_at_ns, first_enqueued_at_ns, next_attempt_at_ns,
  attempts, deaths, last_error, died_at_ns, reason, traceback"""
_HISTORY = """seq, id, outcome, ended_at_ns, enqueued_at_ns, attempts, "trigger", task, workspace,
  source, lesson_id, detail"""


def _job(row: Row) -> Job:
    seq, job_id, state, task, attempt, outcome, trigger, *rest = row
    request = LessonRequest(task, attempt, outcome, trigger)
    return Job(seq, JobId(job_id), JobState(state), request, *rest)


def _entry(row: Row) -> HistoryEntry:
    seq, job_id, outcome, *rest = row
    return HistoryEntry(seq, JobId(job_id), Ending(outcome), *rest)


def count(conn: Connection, name: str) -> int:
    """Return one of the counters that triggers keep."""
    row = conn.execute("SELECT n FROM counters WHERE name = ?", (name,)).fetchone()
    n: int = row[0]
    return n


def counts(conn: Connection) -> QueueCounts:
    """Return how many jobs there are in each table state."""
    return QueueCounts(*(count(conn, name) for name in ("pending", "parked", "dead")))


def add(conn: Connection, job: NewJob, capacity: int, *, drop_oldest: bool) -> Added:
    """Insert a report, or recognise it. See `QueueStore.add`."""
    fits = count(conn, "pending") < capacity
    # Most reports are new and fit: one statement finds that out and stores them.
    if fits and _insert(conn, job, JobState.PENDING):
        return Added(Admission.ACCEPTED, JobState.PENDING)
    known = state(conn, job.id)
    if known is JobState.DEAD:
        # The newest words of the same failure; its death and its errors stay.
        conn.execute(
            "UPDATE jobs SET task = ?, attempt = ?, outcome = ?, workspace = ?, source = ?"
            " WHERE id = ?",
            (
                job.request.task,
                job.request.attempt,
                job.request.outcome,
                job.workspace,
                job.source,
                job.id,
            ),
        )
    if known is not None:
        return Added(Admission.DEDUPED, known)
    made_room = drop_oldest and _park_oldest(conn)
    where = JobState.PENDING if made_room else JobState.PARKED
    _insert(conn, job, where)
    return Added(Admission.ACCEPTED if made_room else Admission.PARKED, where)


def _insert(conn: Connection, job: NewJob, where: JobState) -> bool:
    """Store a report as a job; return whether its id was new."""
    inserted = conn.execute(
        'INSERT INTO jobs (id, state, task, attempt, outcome, "trigger", workspace, source,'
        " enqueued_at_ns, first_enqueued_at_ns, next_attempt_at_ns)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            job.id,
            where,
            job.request.task,
            job.request.attempt,
            job.request.outcome,
            job.request.trigger,
            job.workspace,
            job.source,
            job.enqueued_at_ns,
            job.enqueued_at_ns,
            job.enqueued_at_ns,
        ),
    )
    return bool(inserted.rowcount)


def _park_oldest(conn: Connection) -> bool:
    """Park the job that has been due longest and was never tried, if there is one.

    A retry keeps its place: parked, it would be served later than its backoff says.
    """
    changed = conn.execute(
        "UPDATE jobs SET state = 'parked' WHERE seq = (SELECT seq FROM jobs"
        " WHERE state = 'pending' AND claim IS NULL AND attempts = 0"
        " ORDER BY next_attempt_at_ns, seq LIMIT 1)"
    )
    return bool(changed.rowcount)


def state(conn: Connection, job_id: JobId) -> JobState | None:
    """Return where a job is; None when it has ended or never was."""
    row = conn.execute(
        "SELECT CASE WHEN claim IS NULL THEN state ELSE 'running' END FROM jobs WHERE id = ?",
        (job_id,),
    ).fetchone()
    return JobState(row[0]) if row else None


def claim(conn: Connection, number: int, now_ns: int) -> tuple[Job, Claim] | None:
    """Claim the job that has been due longest and count the attempt."""
    row = conn.execute(
        "UPDATE jobs SET claim = ?, attempts = attempts + 1 WHERE seq = (SELECT seq FROM jobs"
        " WHERE state = 'pending' AND claim IS NULL AND next_attempt_at_ns <= ?"
        f" ORDER BY next_attempt_at_ns, seq LIMIT 1) RETURNING {_JOB}",
        (number, now_ns),
    ).fetchone()
    if row is None:
        return None
    job = _job(row)
    return job, Claim(job.id, number)


def next_due_ns(conn: Connection) -> int | None:
    """Return when the next unclaimed pending job is due."""
    row = conn.execute(
        "SELECT next_attempt_at_ns FROM jobs WHERE state = 'pending' AND claim IS NULL"
        " ORDER BY next_attempt_at_ns, seq LIMIT 1"
    ).fetchone()
    return row[0] if row else None


def claimed(conn: Connection, held: Claim) -> Job | None:
    """Return the job that a claim holds; None when the claim is stale."""
    row = conn.execute(
        f"SELECT {_JOB} FROM jobs WHERE id = ? AND claim = ?", (held.job_id, held.number)
    ).fetchone()
    return _job(row) if row else None


def end(
    conn: Connection, job: Job, ending: Ending, detail: str, now_ns: int, lesson: LessonId | None
) -> None:
    """Remove a job and keep what became of it."""
    conn.execute(
        "INSERT INTO history (id, outcome, ended_at_ns, enqueued_at_ns, attempts,"
        ' "trigger", task, workspace, source, lesson_id, detail)'
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            job.id,
            ending,
            now_ns,
            job.first_enqueued_at_ns,
            job.attempts,
            job.request.trigger,
            job.request.task[:HISTORY_TEXT],
            job.workspace,
            job.source,
            lesson,
            detail,
        ),
    )
    conn.execute("DELETE FROM failures WHERE job_id = ?", (job.id,))
    conn.execute("DELETE FROM jobs WHERE seq = ?", (job.seq,))


def retry(
    conn: Connection, held: Claim, error: str, due_ns: int, *, spent: bool, now_ns: int
) -> bool:
    """Put a claimed job back into the queue."""
    job = claimed(conn, held)
    if job is None:
        return False
    if spent:
        _note_failure(conn, job, error, now_ns)
    conn.execute(
        "UPDATE jobs SET claim = NULL, next_attempt_at_ns = ?, attempts = attempts - ?,"
        " last_error = CASE WHEN ? = '' THEN last_error ELSE ? END WHERE seq = ?",
        (due_ns, 0 if spent else 1, error, error, job.seq),
    )
    return True


def bury(conn: Connection, held: Claim, reason: str, traceback: str, now_ns: int) -> bool:
    """Move a claimed job to the dead letters."""
    job = claimed(conn, held)
    if job is None:
        return False
    _kill(conn, job, reason, traceback, now_ns)
    return True


def _kill(conn: Connection, job: Job, reason: str, traceback: str, now_ns: int) -> None:
    _note_failure(conn, job, reason, now_ns)
    conn.execute(
        "UPDATE jobs SET state = 'dead', claim = NULL, died_at_ns = ?, reason = ?,"
        " traceback = ?, last_error = ? WHERE seq = ?",
        (now_ns, reason, traceback, reason, job.seq),
    )


def _note_failure(conn: Connection, job: Job, error: str, now_ns: int) -> None:
    conn.execute(
        "INSERT INTO failures (job_id, at_ns, attempt, error) VALUES (?, ?, ?, ?)",
        (job.id, now_ns, job.attempts, error),
    )
    conn.execute(
        "DELETE FROM failures WHERE job_id = ? AND seq <= (SELECT seq FROM failures"
        " WHERE job_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)",
        (job.id, job.id, FAILURES_KEPT),
    )


def failures(conn: Connection, job_id: JobId) -> list[Failure]:
    """Return the failed attempts of a job that has not ended, oldest first."""
    rows = conn.execute(
        "SELECT at_ns, attempt, error FROM failures WHERE job_id = ? ORDER BY seq", (job_id,)
    )
    return [Failure(*row) for row in rows]


def void_claims(conn: Connection, crash_budget: int, now_ns: int) -> tuple[int, list[JobId]]:
    """Void every claim, count a death for each, and bury those over the crash budget."""
    rows = conn.execute(
        "UPDATE jobs SET claim = NULL, deaths = deaths + 1 WHERE claim IS NOT NULL"
        f" RETURNING {_JOB}"
    ).fetchall()
    killers = [job for job in map(_job, rows) if job.deaths >= crash_budget]
    for job in killers:
        reason = f"the daemon died {job.deaths} times while processing this job"
        _kill(conn, job, reason, "", now_ns)
    return len(rows), [job.id for job in killers]


def admit(conn: Connection, capacity: int) -> list[JobId]:
    """Make parked jobs pending, oldest first, while there is room."""
    room = min(capacity - count(conn, "pending"), BATCH)
    if room <= 0:
        return []
    rows = conn.execute(
        "UPDATE jobs SET state = 'pending' WHERE seq IN"
        " (SELECT seq FROM jobs WHERE state = 'parked' ORDER BY seq LIMIT ?) RETURNING id",
        (room,),
    ).fetchall()
    return [JobId(row[0]) for row in rows]


def discard_stale(conn: Connection, before_ns: int, now_ns: int) -> int:
    """End unclaimed jobs that were enqueued before a time.

    Pending ones are found by their due time, which is never before they were enqueued;
    parked ones in order of arrival. Both walks stop at the first that is young enough.
    """
    rows = conn.execute(
        f"SELECT {_JOB} FROM jobs WHERE state = 'pending' AND claim IS NULL"
        " AND next_attempt_at_ns < ? AND enqueued_at_ns < ? LIMIT ?",
        (before_ns, before_ns, BATCH),
    ).fetchall()
    rows += conn.execute(
        f"SELECT {_JOB} FROM (SELECT * FROM jobs WHERE state = 'parked' ORDER BY seq LIMIT ?)"
        " WHERE enqueued_at_ns < ?",
        (BATCH - len(rows), before_ns),
    ).fetchall()
    for job in map(_job, rows):
        end(conn, job, Ending.STALE, "too old to be worth a lesson", now_ns, None)
    return len(rows)


def make_due(conn: Connection, now_ns: int) -> int:
    """Make every waiting pending job due now."""
    changed = conn.execute(
        "UPDATE jobs SET next_attempt_at_ns = ? WHERE seq IN (SELECT seq FROM jobs"
        " WHERE state = 'pending' AND claim IS NULL AND next_attempt_at_ns > ? LIMIT ?)",
        (now_ns, now_ns, BATCH),
    )
    n: int = changed.rowcount
    return n


def _dead(conn: Connection, job_id: JobId | None) -> list[Job]:
    if job_id is None:
        rows = conn.execute(
            f"SELECT {_JOB} FROM jobs WHERE state = 'dead' ORDER BY died_at_ns, seq LIMIT ?",
            (BATCH,),
        )
    else:
        rows = conn.execute(f"SELECT {_JOB} FROM jobs WHERE state = 'dead' AND id = ?", (job_id,))
    return [_job(row) for row in rows.fetchall()]


def revive(conn: Connection, job_id: JobId | None, now_ns: int, capacity: int) -> list[JobId]:
    """Put dead jobs back, with a fresh stale clock and all their attempts."""
    jobs = _dead(conn, job_id)
    room = max(capacity - count(conn, "pending"), 0)
    for index, job in enumerate(jobs):
        conn.execute(
            "UPDATE jobs SET state = ?, enqueued_at_ns = ?, next_attempt_at_ns = ?,"
            " attempts = 0, deaths = 0, died_at_ns = 0, reason = '', traceback = ''"
            " WHERE seq = ?",
            ("pending" if index < room else "parked", now_ns, now_ns, job.seq),
        )
    return [job.id for job in jobs]


def purge(conn: Connection, job_id: JobId | None, now_ns: int) -> list[JobId]:
    """End dead jobs as purged."""
    jobs = _dead(conn, job_id)
    for job in jobs:
        end(conn, job, Ending.PURGED, job.reason, now_ns, None)
    return [job.id for job in jobs]


def trim_history(conn: Connection, before_ns: int, max_rows: int) -> int:
    """Forget the oldest ended jobs that are too old or too many."""
    excess = max(count(conn, "history") - max_rows, 0)
    changed = conn.execute(
        "DELETE FROM history WHERE seq IN (SELECT seq FROM (SELECT seq, ended_at_ns,"
        " row_number() OVER (ORDER BY seq) AS rank FROM"
        " (SELECT seq, ended_at_ns FROM history ORDER BY seq LIMIT ?))"
        " WHERE ended_at_ns < ? OR rank <= ?)",
        (BATCH, before_ns, excess),
    )
    n: int = changed.rowcount
    return n


def list_jobs(conn: Connection, page: Page) -> list[Job]:
    """Return pending, running and parked jobs in order of arrival."""
    rows = conn.execute(
        f"SELECT {_JOB} FROM jobs WHERE seq > ? AND state <> 'dead' ORDER BY seq LIMIT ?",
        (page.after or 0, page.limit),
    )
    return [_job(row) for row in rows.fetchall()]


def list_dead(conn: Connection, page: Page) -> list[Job]:
    """Return dead jobs, newest death first; the cursor counts rows passed."""
    rows = conn.execute(
        f"SELECT {_JOB} FROM jobs WHERE state = 'dead' ORDER BY died_at_ns DESC, seq DESC"
        " LIMIT ? OFFSET ?",
        (page.limit, page.after or 0),
    )
    return [_job(row) for row in rows.fetchall()]


def list_history(conn: Connection, page: Page) -> tuple[list[HistoryEntry], int]:
    """Return ended jobs, newest first, and how many there are."""
    rows = conn.execute(
        f"SELECT {_HISTORY} FROM history WHERE ? IS NULL OR seq < ? ORDER BY seq DESC LIMIT ?",
        (page.after, page.after, page.limit),
    )
    return [_entry(row) for row in rows.fetchall()], count(conn, "history")


def find_jobs(conn: Connection, prefix: str, limit: int) -> list[Job]:
    """Return jobs whose id starts with `prefix`."""
    rows = conn.execute(
        f"SELECT {_JOB} FROM jobs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (prefix, _after(prefix), limit),
    )
    return [_job(row) for row in rows.fetchall()]


def find_history(conn: Connection, prefix: str, limit: int) -> list[HistoryEntry]:
    """Return ended jobs whose id starts with `prefix`, newest first."""
    rows = conn.execute(
        f"SELECT {_HISTORY} FROM history WHERE id >= ? AND id < ? ORDER BY seq DESC LIMIT ?",
        (prefix, _after(prefix), limit),
    )
    return [_entry(row) for row in rows.fetchall()]


def _after(prefix: str) -> str:
    """Return the least text above everything that starts with `prefix`."""
    return prefix + "\U0010ffff"
