/**
 * Waits and signals are numbered upwards and never deleted, so their numbers say which came first. `waits.run_no`
 * repeats what `place` says, for the indexes of what is open. Signals that were delivered at once have no data: the
 * waits have it.
 */
export const waits = `
CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TABLE waits (
  no INTEGER PRIMARY KEY,
  place INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  state INTEGER NOT NULL,
  kind TEXT NOT NULL,
  policy TEXT NOT NULL,
  armed_at INTEGER NOT NULL,
  deadline INTEGER,
  settled_at INTEGER,
  signal_no INTEGER,
  key TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  event TEXT,
  row_key TEXT,
  label TEXT NOT NULL,
  path TEXT NOT NULL,
  payload TEXT
);
CREATE UNIQUE INDEX waits_by_place ON waits (place, key);
CREATE INDEX waits_open_by_run ON waits (run_no, event, deadline) WHERE state = 0;
CREATE INDEX waits_open_by_event ON waits (event, run_no, row_key) WHERE state = 0;
CREATE INDEX waits_answered ON waits (run_no, signal_no) WHERE signal_no IS NOT NULL;

CREATE TABLE signals (
  no INTEGER PRIMARY KEY,
  run_no INTEGER,
  event TEXT NOT NULL,
  row_key TEXT,
  at INTEGER NOT NULL,
  consumed INTEGER NOT NULL,
  data TEXT
);
CREATE INDEX signals_kept ON signals (run_no, event) WHERE consumed = 0;

-- attempt is the one that wrote it, 0 where it came with a copy of another run.
CREATE TABLE operations (
  place INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  run_no INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  refusals INTEGER NOT NULL,
  wait_until INTEGER,
  at INTEGER NOT NULL,
  site TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  operation_key TEXT NOT NULL,
  tool TEXT NOT NULL,
  label TEXT NOT NULL,
  path TEXT NOT NULL,
  answer TEXT,
  PRIMARY KEY (place, call_id)
) WITHOUT ROWID;
CREATE INDEX operations_by_call ON operations (run_no, call_id);
`;
