-- One row a job that has not ended. A claim marks a pending job as running.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('pending', 'parked', 'dead')),
  task TEXT NOT NULL,
  attempt TEXT NOT NULL,
  outcome TEXT NOT NULL,
  "trigger" TEXT NOT NULL,
  workspace TEXT NOT NULL,
  source TEXT NOT NULL,
  enqueued_at_ns INTEGER NOT NULL,
  first_enqueued_at_ns INTEGER NOT NULL,
  next_attempt_at_ns INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  deaths INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT '',
  claim INTEGER,
  died_at_ns INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  traceback TEXT NOT NULL DEFAULT ''
) STRICT;

-- Every question the queue asks has an index that holds the answer's rows only:
-- the cost of a report does not depend on the backlog.
CREATE INDEX jobs_due ON jobs (next_attempt_at_ns, seq) WHERE state = 'pending' AND claim IS NULL;
CREATE INDEX jobs_claimed ON jobs (claim) WHERE claim IS NOT NULL;
CREATE INDEX jobs_parked ON jobs (seq) WHERE state = 'parked';
CREATE INDEX jobs_dead ON jobs (died_at_ns, seq) WHERE state = 'dead';

-- Counted as rows change, so that neither a report nor a boot counts a backlog.
CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('pending', 0), ('parked', 0), ('dead', 0), ('history', 0), ('lessons', 0);

CREATE TRIGGER jobs_inserted AFTER INSERT ON jobs BEGIN
  UPDATE counters SET n = n + 1 WHERE name = NEW.state;
END;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs BEGIN
  UPDATE counters SET n = n - 1 WHERE name = OLD.state;
END;
CREATE TRIGGER jobs_moved AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
  UPDATE counters SET n = n - 1 WHERE name = OLD.state;
  UPDATE counters SET n = n + 1 WHERE name = NEW.state;
END;

-- The failed attempts of a job that has not ended, newest twenty.
CREATE TABLE failures (
  seq INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  at_ns INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  error TEXT NOT NULL
) STRICT;
CREATE INDEX failures_job ON failures (job_id, seq);

-- What became of ended jobs, bounded by age and rows.
CREATE TABLE history (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('success', 'skipped', 'stale', 'purged')),
  ended_at_ns INTEGER NOT NULL,
  enqueued_at_ns INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  "trigger" TEXT NOT NULL,
  task TEXT NOT NULL,
  workspace TEXT NOT NULL,
  source TEXT NOT NULL,
  lesson_id TEXT,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX history_id ON history (id);

CREATE TRIGGER history_inserted AFTER INSERT ON history BEGIN
  UPDATE counters SET n = n + 1 WHERE name = 'history';
END;
CREATE TRIGGER history_deleted AFTER DELETE ON history BEGIN
  UPDATE counters SET n = n - 1 WHERE name = 'history';
END;

CREATE TABLE lessons (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  situation TEXT NOT NULL,
  mistake TEXT NOT NULL,
  correction TEXT NOT NULL,
  "trigger" TEXT NOT NULL,
  tags TEXT NOT NULL,
  category TEXT NOT NULL,
  fact TEXT NOT NULL,
  task TEXT NOT NULL,
  workspace TEXT NOT NULL,
  source TEXT NOT NULL,
  distiller TEXT NOT NULL,
  job_id TEXT NOT NULL,
  created_at_ns INTEGER NOT NULL,
  last_seen_at_ns INTEGER NOT NULL,
  seen INTEGER NOT NULL
) STRICT;

CREATE TRIGGER lessons_inserted AFTER INSERT ON lessons BEGIN
  UPDATE counters SET n = n + 1 WHERE name = 'lessons';
END;
CREATE TRIGGER lessons_deleted AFTER DELETE ON lessons BEGIN
  UPDATE counters SET n = n - 1 WHERE name = 'lessons';
END;

-- The text index keeps no copy of the text: lessons is the truth.
CREATE VIRTUAL TABLE lessons_text USING fts5 (
  task, situation, mistake, correction, tags,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE lessons_terms USING fts5vocab (lessons_text, 'row');

-- The vectors of an embedding space stand in vectors_<seq>, their signs in the vec0 table
-- signs_<seq>; both are made when the space is opened.
CREATE TABLE spaces (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  dimensions INTEGER NOT NULL
) STRICT;
