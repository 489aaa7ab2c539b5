-- 1 → 2: all that a JSON record says, so that the record can be made from the rows again; open loops, more axes,
-- floors; what judging will need. Runs after v1.sql in a new database and over an old one, with the triggers and
-- foreign keys off. A row that was entered by version 1 keeps NULL where version 1 had no column.
-- `more`: fields of the record that have no column yet, as JSON by the part of the record they stand in.

DROP VIEW unmeasured;
DROP VIEW latest_measurement;
DROP VIEW measurement;

-- schema_version is of the JSON the rows were made from, record_sha256 that of its run.json.
ALTER TABLE campaign ADD COLUMN schema_version INTEGER;
ALTER TABLE campaign ADD COLUMN record_sha256 TEXT;
ALTER TABLE campaign ADD COLUMN more TEXT CHECK (json_valid(more));
ALTER TABLE environment ADD COLUMN more TEXT CHECK (json_valid(more));
ALTER TABLE target ADD COLUMN more TEXT CHECK (json_valid(more));

ALTER TABLE build ADD COLUMN target_cpu TEXT;
ALTER TABLE build ADD COLUMN salt TEXT;
ALTER TABLE build ADD COLUMN stripped_sha256 TEXT;
ALTER TABLE build ADD COLUMN more TEXT CHECK (json_valid(more));

ALTER TABLE cell ADD COLUMN keys INTEGER;
ALTER TABLE cell ADD COLUMN distribution TEXT;
ALTER TABLE cell ADD COLUMN arrival TEXT CHECK (arrival IN ('fixed', 'poisson'));
ALTER TABLE cell ADD COLUMN rate_percent INTEGER;
ALTER TABLE cell ADD COLUMN rate_per_second INTEGER;
ALTER TABLE cell ADD COLUMN ttl_ms INTEGER;
ALTER TABLE cell ADD COLUMN memory_limit_bytes INTEGER;
ALTER TABLE cell ADD COLUMN protocol TEXT;
ALTER TABLE cell ADD COLUMN transport TEXT;
ALTER TABLE cell ADD COLUMN connections TEXT;
ALTER TABLE cell ADD COLUMN variant TEXT;
ALTER TABLE cell ADD COLUMN client_program TEXT;
ALTER TABLE cell ADD COLUMN cache_bytes INTEGER;
ALTER TABLE cell ADD COLUMN more TEXT CHECK (json_valid(more));

-- block and side are of a gate's quartets of trials.
ALTER TABLE trial ADD COLUMN block INTEGER;
ALTER TABLE trial ADD COLUMN side TEXT CHECK (side IN ('base', 'head'));
ALTER TABLE trial ADD COLUMN more TEXT CHECK (json_valid(more));

ALTER TABLE window ADD COLUMN latency_ns_p50 INTEGER;
ALTER TABLE window ADD COLUMN latency_ns_p99 INTEGER;
ALTER TABLE window ADD COLUMN server_cpu_ns INTEGER;
ALTER TABLE window ADD COLUMN rss_bytes INTEGER;
ALTER TABLE window ADD COLUMN more TEXT CHECK (json_valid(more));
ALTER TABLE os_stat ADD COLUMN more TEXT CHECK (json_valid(more));
ALTER TABLE component ADD COLUMN more TEXT CHECK (json_valid(more));
ALTER TABLE ratio ADD COLUMN more TEXT CHECK (json_valid(more));

-- place: the order in the record.
ALTER TABLE value ADD COLUMN place INTEGER;
ALTER TABLE summary ADD COLUMN place INTEGER;
ALTER TABLE summary ADD COLUMN more TEXT CHECK (json_valid(more));

-- A metric whose unit or direction is told otherwise by a later build is another series.
CREATE TABLE series_2 (
  series_id   INTEGER PRIMARY KEY,
  scenario_id INTEGER NOT NULL REFERENCES scenario,
  metric      TEXT NOT NULL,
  operation   TEXT NOT NULL,
  unit        TEXT NOT NULL,
  direction   TEXT NOT NULL CHECK (direction IN ('higher', 'lower', 'neutral')),
  UNIQUE (scenario_id, metric, operation, unit, direction)
) STRICT;
INSERT INTO series_2 SELECT series_id, scenario_id, metric, operation, unit, direction FROM series;
DROP TABLE series;
ALTER TABLE series_2 RENAME TO series;

-- A <scenario>.json of a campaign. params: only where its keys stand in another order than the scenario's.
CREATE TABLE scenario_record (
  campaign_id    INTEGER NOT NULL REFERENCES campaign,
  place          INTEGER NOT NULL,
  scenario_id    INTEGER NOT NULL REFERENCES scenario,
  harness_id     INTEGER NOT NULL REFERENCES harness,
  file           TEXT NOT NULL,
  sha256         TEXT NOT NULL,
  cells_ok       INTEGER NOT NULL,
  cells_failed   INTEGER NOT NULL,
  cells_skipped  INTEGER NOT NULL,
  params         TEXT CHECK (json_valid(params)),
  more           TEXT CHECK (json_valid(more)),
  PRIMARY KEY (campaign_id, place),
  UNIQUE (campaign_id, file)
) STRICT, WITHOUT ROWID;

-- Percentiles of the merged histograms of a cell: [{percentile, latency_ns}, …].
CREATE TABLE distribution (
  cell_id   INTEGER NOT NULL REFERENCES cell,
  place     INTEGER NOT NULL,
  operation TEXT NOT NULL,
  count     INTEGER NOT NULL,
  points    TEXT NOT NULL CHECK (json_valid(points)),
  PRIMARY KEY (cell_id, place)
) STRICT, WITHOUT ROWID;

-- What an open loop offered in a trial, and what came of it.
CREATE TABLE open_loop (
  trial_id            INTEGER PRIMARY KEY REFERENCES trial,
  arrival             TEXT NOT NULL CHECK (arrival IN ('fixed', 'poisson')),
  offered_per_second  REAL NOT NULL,
  achieved_per_second REAL NOT NULL,
  due                 INTEGER NOT NULL,
  skipped             INTEGER NOT NULL CHECK (skipped BETWEEN 0 AND due),
  in_flight_bound     INTEGER NOT NULL,
  in_flight_max       INTEGER NOT NULL,
  send_delay_ns_max   INTEGER NOT NULL,
  more                TEXT CHECK (json_valid(more))
) STRICT;

-- A campaign that has not ended, or not well. The row stands from the first moment, and says `failed`: whatever
-- ends the runner, it is right. It goes when the campaign is entered. The journal's state.json says the same.
CREATE TABLE unfinished_campaign (
  run_id      TEXT PRIMARY KEY,
  version     TEXT NOT NULL,
  profile     TEXT NOT NULL,
  started_at  TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('failed', 'interrupted')),
  reason      TEXT NOT NULL,
  told_at     TEXT NOT NULL,
  steps_done  INTEGER NOT NULL,
  steps_total INTEGER NOT NULL CHECK (steps_done BETWEEN 0 AND steps_total)
) STRICT;

-- Counted exactly in a trial: instructions and the like.
CREATE TABLE counter (
  trial_id INTEGER NOT NULL REFERENCES trial,
  name     TEXT NOT NULL,
  count    INTEGER NOT NULL CHECK (count >= 0),
  source   TEXT NOT NULL,
  PRIMARY KEY (trial_id, name)
) STRICT, WITHOUT ROWID;

-- A file that belongs to a campaign: kept here, or at a place.
CREATE TABLE attachment (
  attachment_id INTEGER PRIMARY KEY,
  campaign_id   INTEGER NOT NULL REFERENCES campaign,
  trial_id      INTEGER REFERENCES trial,
  name          TEXT NOT NULL,
  media_type    TEXT NOT NULL,
  bytes         INTEGER NOT NULL CHECK (bytes >= 0),
  sha256        TEXT NOT NULL CHECK (length(sha256) = 64),
  content       BLOB,
  location      TEXT,
  CHECK ((content IS NULL) <> (location IS NULL)),
  CHECK (content IS NULL OR length(content) = bytes),
  UNIQUE (campaign_id, name)
) STRICT;

-- Base against head: two campaigns, or the two sides of one.
CREATE TABLE comparison (
  comparison_id    INTEGER PRIMARY KEY,
  base_campaign_id INTEGER NOT NULL REFERENCES campaign,
  head_campaign_id INTEGER NOT NULL REFERENCES campaign,
  base_build_id    INTEGER REFERENCES build,
  head_build_id    INTEGER REFERENCES build,
  harness_id       INTEGER NOT NULL REFERENCES harness,
  kind             TEXT NOT NULL CHECK (kind IN ('gate', 'null_control', 'runs')),
  made_at          TEXT NOT NULL
) STRICT;

-- The judgement of one metric of one cell.
CREATE TABLE verdict (
  verdict_id    INTEGER PRIMARY KEY,
  comparison_id INTEGER NOT NULL REFERENCES comparison,
  series_id     INTEGER NOT NULL REFERENCES series,
  cell_key      TEXT NOT NULL,
  stage         TEXT NOT NULL CHECK (stage IN ('identical', 'null_control', 'screen', 'confirm')),
  outcome       TEXT NOT NULL CHECK (outcome IN ('pass', 'improvement', 'regression', 'inconclusive', 'not_measured')),
  reason        TEXT,
  blocks        INTEGER NOT NULL CHECK (blocks >= 0),
  ratio         REAL CHECK (ratio > 0),
  low           REAL,
  high          REAL,
  method        TEXT,
  seed          INTEGER,
  p             REAL CHECK (p BETWEEN 0 AND 1),
  p_adjusted    REAL CHECK (p_adjusted BETWEEN 0 AND 1),
  floor         REAL,
  aa_sd         REAL,
  mde           REAL,
  CHECK (low <= ratio AND ratio <= high),
  CHECK (p_adjusted >= p),
  -- Silence is never a pass, and a change is never claimed without its evidence.
  CHECK (outcome NOT IN ('inconclusive', 'not_measured') OR reason IS NOT NULL),
  CHECK (outcome NOT IN ('improvement', 'regression')
         OR (ratio IS NOT NULL AND low IS NOT NULL AND high IS NOT NULL AND p_adjusted IS NOT NULL)),
  UNIQUE (comparison_id, series_id, cell_key)
) STRICT;

-- The gate tried on what is known: the same commit twice, or a build with a delay put in.
CREATE TABLE calibration (
  calibration_id   INTEGER PRIMARY KEY,
  machine_id       INTEGER NOT NULL REFERENCES machine,
  harness_id       INTEGER NOT NULL REFERENCES harness,
  series_id        INTEGER NOT NULL REFERENCES series,
  made_at          TEXT NOT NULL,
  injected_percent REAL NOT NULL CHECK (injected_percent >= 0),
  injected_as      TEXT CHECK (injected_as IN ('spin', 'sleep')),
  trials           INTEGER NOT NULL CHECK (trials > 0),
  red              INTEGER NOT NULL CHECK (red BETWEEN 0 AND trials),
  rate_low         REAL NOT NULL CHECK (rate_low BETWEEN 0 AND 1),
  rate_high        REAL NOT NULL CHECK (rate_high BETWEEN rate_low AND 1),
  mde              REAL,
  CHECK ((injected_percent = 0) = (injected_as IS NULL))
) STRICT;

-- A level of a series that changed between two campaigns of one machine. Advisory.
CREATE TABLE changepoint (
  changepoint_id     INTEGER PRIMARY KEY,
  machine_id         INTEGER NOT NULL REFERENCES machine,
  series_id          INTEGER NOT NULL REFERENCES series,
  cell_key           TEXT NOT NULL,
  before_campaign_id INTEGER NOT NULL REFERENCES campaign,
  after_campaign_id  INTEGER NOT NULL REFERENCES campaign,
  ratio              REAL NOT NULL CHECK (ratio > 0),
  p                  REAL NOT NULL CHECK (p BETWEEN 0 AND 1),
  p_adjusted         REAL NOT NULL CHECK (p_adjusted BETWEEN p AND 1),
  method             TEXT NOT NULL,
  seed               INTEGER NOT NULL,
  made_at            TEXT NOT NULL,
  CHECK (before_campaign_id <> after_campaign_id)
) STRICT;

-- A regression that was accepted, with its reason, until it expires.
CREATE TABLE bless (
  bless_id   INTEGER PRIMARY KEY,
  scenario   TEXT NOT NULL,
  metric     TEXT NOT NULL,
  commit_id  TEXT NOT NULL,
  ratio      REAL NOT NULL CHECK (ratio > 0),
  reason     TEXT NOT NULL CHECK (length(trim(reason)) > 0),
  blessed_at TEXT NOT NULL,
  expires_at TEXT NOT NULL CHECK (expires_at > blessed_at),
  UNIQUE (scenario, metric, commit_id)
) STRICT;

CREATE INDEX histogram_of_trial ON histogram (trial_id);
CREATE INDEX ratio_of_cell ON ratio (numerator_cell_id);

-- What is asked most: one row per cell and metric, with everything it must be read beside.
-- operation is the cell's; of_operation is set in a mix, where a metric is of one operation only.
CREATE VIEW measurement AS
SELECT campaign.version, campaign.run_id, campaign.started_at, campaign.profile, machine.machine_key AS machine,
       scenario.key AS scenario, cell.label, cell.target, target.version AS target_version, target.role, cell.mode,
       cell.placement, cell.operation, cell.clients, cell.pipeline, cell.value_bytes, cell.set_percent, cell.cap_bytes,
       cell.requests, cell.keys, cell.distribution, cell.arrival, cell.rate_percent, cell.rate_per_second, cell.ttl_ms,
       cell.memory_limit_bytes, cell.protocol, cell.transport, cell.connections, cell.variant, cell.client_program,
       cell.cache_bytes,
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
