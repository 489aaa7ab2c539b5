-- The shape of the database of results: one row per thing measured, in the words of docs/methodology.md.
-- Names carry their unit. Rows are only ever added; triggers refuse any change to a finished campaign.

CREATE TABLE machine (
  machine_id     INTEGER PRIMARY KEY,
  machine_key    TEXT NOT NULL,
  fingerprint    TEXT NOT NULL,
  title          TEXT NOT NULL,
  class          TEXT NOT NULL,
  cpu_model      TEXT NOT NULL,
  architecture   TEXT NOT NULL,
  cores          INTEGER NOT NULL,
  threads        INTEGER NOT NULL,
  memory_gib     INTEGER NOT NULL,
  virtualisation TEXT NOT NULL,
  UNIQUE (machine_key, fingerprint, title, class)
) STRICT;

CREATE TABLE environment (
  environment_id       INTEGER PRIMARY KEY,
  os                   TEXT NOT NULL,
  kernel               TEXT NOT NULL,
  governor             TEXT NOT NULL,
  turbo                TEXT NOT NULL,
  smt                  TEXT NOT NULL,
  transparent_hugepage TEXT NOT NULL,
  aslr                 TEXT NOT NULL,
  swap_bytes           INTEGER NOT NULL,
  mitigations          TEXT NOT NULL CHECK (json_valid(mitigations)),
  cgroup_version       TEXT NOT NULL,
  cgroup_controllers   TEXT NOT NULL CHECK (json_valid(cgroup_controllers)),
  container_runtime    TEXT,
  container_reason     TEXT,
  open_files_limit     INTEGER NOT NULL,
  somaxconn            INTEGER NOT NULL,
  load_average_start   REAL NOT NULL,
  server_cpus          TEXT NOT NULL,
  generator_cpus       TEXT NOT NULL,
  tools                TEXT NOT NULL CHECK (json_valid(tools))
) STRICT;

-- The program that measured.
CREATE TABLE harness (
  harness_id INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL,
  UNIQUE (name, version)
) STRICT;

-- One sitting on one machine in which cells were interleaved: a run.json.
CREATE TABLE campaign (
  campaign_id    INTEGER PRIMARY KEY,
  run_id         TEXT NOT NULL,
  version        TEXT NOT NULL,
  machine_id     INTEGER NOT NULL REFERENCES machine,
  environment_id INTEGER NOT NULL REFERENCES environment,
  harness_id     INTEGER NOT NULL REFERENCES harness,
  profile        TEXT NOT NULL,
  purpose        TEXT NOT NULL,
  started_at     TEXT NOT NULL,
  finished_at    TEXT NOT NULL,
  elapsed_s      REAL NOT NULL,
  seed           INTEGER NOT NULL,
  state          TEXT NOT NULL,
  command        TEXT NOT NULL,
  reproduce      TEXT NOT NULL CHECK (json_valid(reproduce)),
  commit_id      TEXT NOT NULL,
  dirty          INTEGER NOT NULL CHECK (dirty IN (0, 1)),
  source_version TEXT NOT NULL,
  notes          TEXT NOT NULL CHECK (json_valid(notes)),
  sealed         INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1)),
  UNIQUE (version, run_id)
) STRICT;

-- An executable file. An image's binary is the same row as the native one's when it is the same file.
CREATE TABLE build (
  build_id  INTEGER PRIMARY KEY,
  file      TEXT NOT NULL,
  sha256    TEXT NOT NULL,
  bytes     INTEGER NOT NULL,
  profile   TEXT NOT NULL,
  rustc     TEXT NOT NULL,
  target    TEXT NOT NULL,
  rustflags TEXT NOT NULL,
  is_static INTEGER NOT NULL CHECK (is_static IN (0, 1)),
  UNIQUE (file, sha256, profile, rustc, target, rustflags)
) STRICT;

CREATE TABLE target (
  target_id           INTEGER PRIMARY KEY,
  campaign_id         INTEGER NOT NULL REFERENCES campaign,
  key                 TEXT NOT NULL,
  title               TEXT NOT NULL,
  role                TEXT NOT NULL,
  available           INTEGER NOT NULL CHECK (available IN (0, 1)),
  reason              TEXT,
  version             TEXT NOT NULL,
  allocator           TEXT NOT NULL,
  transport           TEXT NOT NULL,
  durability          TEXT NOT NULL,
  command             TEXT NOT NULL CHECK (json_valid(command)),
  settings            TEXT NOT NULL CHECK (json_valid(settings)),
  build_id            INTEGER REFERENCES build,
  image_reference     TEXT,
  image_digest        TEXT,
  image_bytes         INTEGER,
  image_binary_sha256 TEXT,
  image_runtime       TEXT,
  UNIQUE (campaign_id, key)
) STRICT;

-- A changed definition starts a new row, and with it a new series.
CREATE TABLE scenario (
  scenario_id   INTEGER PRIMARY KEY,
  key           TEXT NOT NULL,
  revision      INTEGER NOT NULL,
  title         TEXT NOT NULL,
  kind          TEXT NOT NULL,
  analysis      TEXT NOT NULL,
  validity      TEXT NOT NULL,
  not_measured  TEXT NOT NULL,
  params        TEXT NOT NULL CHECK (json_valid(params)),
  params_sha256 TEXT NOT NULL,
  UNIQUE (key, revision, params_sha256, title, kind, analysis, validity, not_measured)
) STRICT;

-- One target in one mode at one point of the axes.
CREATE TABLE cell (
  cell_id     INTEGER PRIMARY KEY,
  campaign_id INTEGER NOT NULL REFERENCES campaign,
  scenario_id INTEGER NOT NULL REFERENCES scenario,
  target_id   INTEGER REFERENCES target,
  key         TEXT NOT NULL,
  target      TEXT NOT NULL,
  mode        TEXT NOT NULL,
  placement   TEXT NOT NULL,
  operation   TEXT NOT NULL,
  clients     INTEGER,
  pipeline    INTEGER,
  value_bytes INTEGER,
  set_percent INTEGER,
  cap_bytes   INTEGER,
  requests    INTEGER,
  label       TEXT NOT NULL,
  status      TEXT NOT NULL,
  reason      TEXT,
  UNIQUE (campaign_id, scenario_id, key)
) STRICT;

-- One fresh process (or container): the statistical unit.
CREATE TABLE trial (
  trial_id           INTEGER PRIMARY KEY,
  cell_id            INTEGER NOT NULL REFERENCES cell,
  trial_index        INTEGER NOT NULL,
  position           INTEGER NOT NULL,
  status             TEXT NOT NULL,
  reason             TEXT,
  elapsed_s          REAL NOT NULL,
  operations         INTEGER NOT NULL,
  hits               INTEGER NOT NULL,
  misses             INTEGER NOT NULL,
  errors             INTEGER NOT NULL,
  pid                INTEGER,
  runtime            TEXT,
  oci_runtime        TEXT,
  container_id       TEXT,
  image_digest       TEXT,
  binary_sha256      TEXT,
  cgroup             TEXT CHECK (cgroup IS NULL OR json_valid(cgroup)),
  cpu_limit          REAL,
  memory_limit_bytes INTEGER,
  limit_files        TEXT CHECK (limit_files IS NULL OR json_valid(limit_files)),
  cpus_allowed       TEXT,
  generator_cpus     TEXT,
  cpu_time_source    TEXT,
  rss_bytes_start    INTEGER,
  facts              TEXT NOT NULL CHECK (json_valid(facts)),
  UNIQUE (cell_id, trial_index)
) STRICT;

-- A metric of a scenario; operation is '' where it is of all operations together.
CREATE TABLE series (
  series_id   INTEGER PRIMARY KEY,
  scenario_id INTEGER NOT NULL REFERENCES scenario,
  metric      TEXT NOT NULL,
  operation   TEXT NOT NULL,
  unit        TEXT NOT NULL,
  direction   TEXT NOT NULL,
  UNIQUE (scenario_id, metric, operation)
) STRICT;

-- One metric of one trial.
CREATE TABLE value (
  trial_id  INTEGER NOT NULL REFERENCES trial,
  series_id INTEGER NOT NULL REFERENCES series,
  value     REAL NOT NULL,
  PRIMARY KEY (trial_id, series_id)
) STRICT, WITHOUT ROWID;

-- Of a trial, or (trial_id empty) merged over the ok trials of a cell.
CREATE TABLE histogram (
  histogram_id        INTEGER PRIMARY KEY,
  cell_id             INTEGER NOT NULL REFERENCES cell,
  trial_id            INTEGER REFERENCES trial,
  operation           TEXT NOT NULL,
  hdr_v2_deflate      BLOB NOT NULL,
  low_ns              INTEGER NOT NULL,
  high_ns             INTEGER NOT NULL,
  digits              INTEGER NOT NULL,
  count               INTEGER NOT NULL,
  clipped             INTEGER NOT NULL,
  from_intended_start INTEGER NOT NULL CHECK (from_intended_start IN (0, 1)),
  UNIQUE (cell_id, trial_id, operation)
) STRICT;

CREATE TABLE window (
  trial_id     INTEGER NOT NULL REFERENCES trial,
  window_index INTEGER NOT NULL,
  start_ms     REAL NOT NULL,
  length_ms    REAL NOT NULL,
  operations   INTEGER NOT NULL,
  PRIMARY KEY (trial_id, window_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE os_stat (
  trial_id             INTEGER PRIMARY KEY REFERENCES trial,
  server_cpu_ns        INTEGER NOT NULL,
  server_user_ns       INTEGER NOT NULL,
  server_system_ns     INTEGER NOT NULL,
  generator_cpu_ns     INTEGER NOT NULL,
  generator_busy_max   REAL NOT NULL,
  foreign_cpu_cores    REAL NOT NULL,
  steal_ms             REAL NOT NULL,
  throttled_ms         REAL NOT NULL,
  involuntary_switches INTEGER NOT NULL,
  voluntary_switches   INTEGER NOT NULL,
  rss_bytes_end        INTEGER NOT NULL,
  rss_bytes_peak       INTEGER NOT NULL
) STRICT;

-- Derived from the trials by the runner, and recomputed by a test.
CREATE TABLE summary (
  cell_id   INTEGER NOT NULL REFERENCES cell,
  series_id INTEGER NOT NULL REFERENCES series,
  median    REAL NOT NULL,
  low       REAL NOT NULL,
  high      REAL NOT NULL,
  spread    TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (cell_id, series_id)
) STRICT, WITHOUT ROWID;

-- Ours in a container against native (overhead), ours against a rival (rival), paired by trial.
CREATE TABLE ratio (
  ratio_id            INTEGER PRIMARY KEY,
  kind                TEXT NOT NULL,
  series_id           INTEGER NOT NULL REFERENCES series,
  numerator_cell_id   INTEGER NOT NULL REFERENCES cell,
  denominator_cell_id INTEGER NOT NULL REFERENCES cell,
  median              REAL NOT NULL,
  low                 REAL NOT NULL,
  high                REAL NOT NULL,
  spread              TEXT NOT NULL,
  n                   INTEGER NOT NULL,
  UNIQUE (kind, series_id, numerator_cell_id, denominator_cell_id)
) STRICT;

-- An imported criterion estimate.
CREATE TABLE component (
  component_id   INTEGER PRIMARY KEY,
  campaign_id    INTEGER NOT NULL REFERENCES campaign,
  key            TEXT NOT NULL,
  group_name     TEXT NOT NULL,
  name           TEXT NOT NULL,
  ns_per_op      REAL NOT NULL,
  ns_per_op_low  REAL NOT NULL,
  ns_per_op_high REAL NOT NULL,
  estimate       TEXT NOT NULL,
  bytes_per_op   INTEGER,
  UNIQUE (campaign_id, key)
) STRICT;

CREATE INDEX trial_of_cell ON trial (cell_id);
CREATE INDEX cell_of_scenario ON cell (scenario_id, operation, value_bytes, clients);
CREATE INDEX value_of_series ON value (series_id);

-- What is asked most: one row per cell and metric, with everything it must be read beside.
-- operation is the cell's; of_operation is set in a mix, where a metric is of one operation only.
CREATE VIEW measurement AS
SELECT campaign.version, campaign.run_id, campaign.started_at, campaign.profile, machine.machine_key AS machine,
       scenario.key AS scenario, cell.label, cell.target, target.version AS target_version, cell.mode, cell.placement,
       cell.operation, cell.clients, cell.pipeline, cell.value_bytes, cell.set_percent, cell.cap_bytes, cell.requests,
       series.metric, nullif(series.operation, '') AS of_operation, series.unit, series.direction,
       summary.median, summary.low, summary.high, summary.spread, summary.n,
       cell.key AS cell, cell.cell_id, campaign.campaign_id
FROM summary
JOIN series USING (series_id)
JOIN cell USING (cell_id)
JOIN scenario ON scenario.scenario_id = cell.scenario_id
JOIN campaign ON campaign.campaign_id = cell.campaign_id
JOIN machine USING (machine_id)
LEFT JOIN target ON target.target_id = cell.target_id;

-- The same, of the newest campaign that measured anything.
CREATE VIEW latest_measurement AS
SELECT * FROM measurement
WHERE campaign_id = (SELECT campaign_id FROM campaign
                     WHERE EXISTS (SELECT 1 FROM cell WHERE cell.campaign_id = campaign.campaign_id)
                     ORDER BY started_at DESC, campaign_id DESC LIMIT 1);

-- Cells without a figure, each with its reason.
CREATE VIEW unmeasured AS
SELECT campaign.version, campaign.run_id, scenario.key AS scenario, cell.label, cell.target, cell.mode, cell.placement,
       cell.status, cell.reason
FROM cell
JOIN scenario USING (scenario_id)
JOIN campaign USING (campaign_id)
WHERE cell.status <> 'ok';
