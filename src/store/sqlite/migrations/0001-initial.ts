/**
 * Nothing is clustered on a hash, since random leaves cost more than everything else.
 *
 * `place` is one integer for where something happened: the number of a space (one dataset of one run, or the run
 * itself as its dataset 0) times 2^28, plus the row's ordinal. So rows are appended, and read in order.
 *
 * `origins` and `sites` hold what repeats. They have no unique index: a process that does not know whether a
 * combination is there just adds it again.
 */
export const initial = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE runs (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  play TEXT NOT NULL,
  artifact TEXT NOT NULL,
  input TEXT NOT NULL,
  options TEXT NOT NULL,
  seed TEXT NOT NULL,
  identity_format INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  root_run_id TEXT NOT NULL,
  parent_run_id TEXT,
  replayed_from TEXT,
  idempotency_key TEXT UNIQUE,
  first_receipt_id INTEGER NOT NULL,
  status INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  owner TEXT,
  lease_until INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  wake_at INTEGER,
  cancel_requested INTEGER NOT NULL,
  error TEXT,
  result TEXT
);
CREATE INDEX runs_by_status ON runs (status);
CREATE INDEX runs_by_play ON runs (play);

CREATE TABLE origins (
  no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL,
  tool TEXT NOT NULL,
  version TEXT NOT NULL,
  tool_digest TEXT NOT NULL,
  account TEXT NOT NULL,
  reusable INTEGER NOT NULL
);
CREATE INDEX origins_by_run ON origins (run_no);
CREATE INDEX origins_by_tool ON origins (tool);

-- raw is NULL where it is kept compressed in receipt_raws.
CREATE TABLE receipts (
  id INTEGER PRIMARY KEY,
  key_hash48 INTEGER NOT NULL,
  origin_no INTEGER NOT NULL,
  at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  call_id TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  input TEXT NOT NULL,
  raw TEXT,
  evicted_at INTEGER
);
CREATE TABLE receipt_raws (receipt_id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, deflated BLOB NOT NULL);

-- The receipts up to meta.keys_merged_to, and perhaps some later ones; the rest is kept in memory.
CREATE TABLE receipt_keys (key_hash48 INTEGER, id INTEGER, PRIMARY KEY (key_hash48, id)) WITHOUT ROWID;

CREATE TABLE spaces (no INTEGER PRIMARY KEY, run_no INTEGER NOT NULL, dataset_no INTEGER NOT NULL, UNIQUE (run_no, dataset_no));

CREATE TABLE sites (
  no INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  label TEXT NOT NULL,
  tool TEXT NOT NULL,
  tool_digest TEXT NOT NULL,
  effect TEXT NOT NULL
);
CREATE INDEX sites_by_tool ON sites (tool);

CREATE TABLE calls (
  place INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  site_no INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  source INTEGER NOT NULL,
  receipt_id INTEGER,
  credits REAL NOT NULL,
  duration_ms INTEGER NOT NULL,
  at INTEGER NOT NULL,
  input_digest TEXT NOT NULL,
  error TEXT,
  PRIMARY KEY (place, call_id)
) WITHOUT ROWID;

CREATE TABLE boundaries (
  place INTEGER NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  path TEXT NOT NULL,
  input_digest TEXT NOT NULL,
  state TEXT NOT NULL,
  value TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (place, key)
) WITHOUT ROWID;

CREATE TABLE frames (
  run_no INTEGER NOT NULL,
  dataset_no INTEGER NOT NULL,
  key TEXT NOT NULL,
  play_path TEXT NOT NULL,
  plan TEXT NOT NULL,
  sealed INTEGER NOT NULL,
  total INTEGER NOT NULL,
  admitted INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (run_no, dataset_no)
) WITHOUT ROWID;
-- place is that of the chunk's first row; repeats is NULL where no row is skipped.
CREATE TABLE frame_chunks (place INTEGER PRIMARY KEY, row_count INTEGER NOT NULL, keys BLOB NOT NULL, repeats BLOB);
-- rows are joined by U+001E, which no JSON text can contain.
CREATE TABLE spool (place INTEGER PRIMARY KEY, row_count INTEGER NOT NULL, rows TEXT NOT NULL);

CREATE TABLE rows (
  place INTEGER PRIMARY KEY,
  state INTEGER NOT NULL,
  credits REAL NOT NULL,
  at INTEGER NOT NULL,
  cells TEXT NOT NULL,
  error TEXT,
  trace TEXT
);
CREATE INDEX rows_failed ON rows (place) WHERE state = 2;

CREATE TABLE events (
  run_no INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  level TEXT NOT NULL,
  dataset_no INTEGER,
  ordinal INTEGER,
  message TEXT NOT NULL,
  data TEXT,
  PRIMARY KEY (run_no, seq)
) WITHOUT ROWID;

CREATE TABLE claim_scopes (no INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE);
CREATE TABLE claims (
  id INTEGER PRIMARY KEY,
  scope_no INTEGER NOT NULL,
  key_hash48 INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  key TEXT NOT NULL
);
CREATE INDEX claims_by_key ON claims (scope_no, key_hash48);
CREATE INDEX claims_by_run ON claims (run_no);
`;
