-- 6 → 7: late_sender_trials, the trials of a cell in which the load generator was late by more than a tenth of a percentile.

DROP VIEW latest_measurement;
DROP VIEW measurement;

CREATE VIEW measurement AS
SELECT campaign.version, campaign.run_id, campaign.started_at, campaign.profile, machine.machine_key AS machine,
       scenario.key AS scenario, cell.label, cell.target, target.version AS target_version, target.role, cell.mode,
       cell.placement, cell.operation, cell.clients, cell.pipeline, cell.value_bytes, cell.set_percent, cell.cap_bytes,
       cell.requests, cell.keys, cell.distribution, cell.arrival, cell.rate_percent, cell.rate_per_second,
       cell.rate_percent_of_slowest, cell.ttl_ms,
       cell.memory_limit_bytes, cell.protocol, cell.transport, cell.connections, cell.variant, cell.client_program,
       cell.cache_bytes, cell.batch, cell.sync, cell.key_schema,
       series.metric, nullif(series.operation, '') AS of_operation, series.unit, series.direction,
       summary.median, summary.low, summary.high, summary.spread, summary.n,
       beside.foreign_cpu_cores_max, beside.steal_cores_max, coalesce(late.trials, 0) AS late_sender_trials,
       cell.key AS cell, cell.cell_id, campaign.campaign_id
FROM summary
JOIN series USING (series_id)
JOIN cell USING (cell_id)
JOIN scenario ON scenario.scenario_id = cell.scenario_id
JOIN campaign ON campaign.campaign_id = cell.campaign_id
JOIN machine USING (machine_id)
LEFT JOIN (SELECT trial.cell_id, max(foreign_cpu_cores) AS foreign_cpu_cores_max,
                  max(steal_ms / 1000.0 / nullif(trial.elapsed_s, 0)) AS steal_cores_max
           FROM trial JOIN os_stat USING (trial_id) GROUP BY trial.cell_id) AS beside ON beside.cell_id = cell.cell_id
LEFT JOIN (SELECT cell_id, count(*) AS trials FROM trial WHERE json_extract(facts, '$.late_sender') IS NOT NULL
           GROUP BY cell_id) AS late ON late.cell_id = cell.cell_id
LEFT JOIN target ON target.target_id = cell.target_id;

-- The same, of the newest campaign of each scenario on each machine.
CREATE VIEW latest_measurement AS
WITH measured AS (
  SELECT DISTINCT scenario.key AS scenario, machine.machine_key AS machine, campaign.campaign_id, campaign.started_at
  FROM cell
  JOIN scenario USING (scenario_id)
  JOIN campaign USING (campaign_id)
  JOIN machine USING (machine_id)
), newest AS (
  SELECT scenario, machine, campaign_id,
         row_number() OVER (PARTITION BY scenario, machine ORDER BY started_at DESC, campaign_id DESC) AS place
  FROM measured
)
SELECT measurement.* FROM measurement
JOIN newest ON newest.scenario = measurement.scenario AND newest.machine = measurement.machine
           AND newest.campaign_id = measurement.campaign_id
WHERE newest.place = 1;
