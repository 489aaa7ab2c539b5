-- Version 5: git's hash of the engine's sources, by which runs of one version have to agree; and what keys look like.

ALTER TABLE campaign ADD COLUMN engine_tree TEXT;
ALTER TABLE cell ADD COLUMN key_schema TEXT;

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
       cell.key AS cell, cell.cell_id, campaign.campaign_id
FROM summary
JOIN series USING (series_id)
JOIN cell USING (cell_id)
JOIN scenario ON scenario.scenario_id = cell.scenario_id
JOIN campaign ON campaign.campaign_id = cell.campaign_id
JOIN machine USING (machine_id)
LEFT JOIN target ON target.target_id = cell.target_id;
