-- Version 4: writes of embedded engines, and the disk that their files lay on; parts beside like parts of others, and how often they ask for memory.

ALTER TABLE cell ADD COLUMN batch INTEGER;
ALTER TABLE cell ADD COLUMN sync TEXT;

ALTER TABLE environment ADD COLUMN disk_filesystem TEXT;
ALTER TABLE environment ADD COLUMN disk_syncs_per_second REAL;
ALTER TABLE environment ADD COLUMN disk_sync_ns_p50 REAL;

ALTER TABLE component ADD COLUMN samples INTEGER;
ALTER TABLE component ADD COLUMN allocations_per_op REAL;
ALTER TABLE component ADD COLUMN library TEXT;
ALTER TABLE component ADD COLUMN counterpart TEXT;

DROP VIEW measurement;
CREATE VIEW measurement AS
SELECT campaign.version, campaign.run_id, campaign.started_at, campaign.profile, machine.machine_key AS machine,
       scenario.key AS scenario, cell.label, cell.target, target.version AS target_version, target.role, cell.mode,
       cell.placement, cell.operation, cell.clients, cell.pipeline, cell.value_bytes, cell.set_percent, cell.cap_bytes,
       cell.requests, cell.keys, cell.distribution, cell.arrival, cell.rate_percent, cell.rate_per_second,
       cell.rate_percent_of_slowest, cell.ttl_ms,
       cell.memory_limit_bytes, cell.protocol, cell.transport, cell.connections, cell.variant, cell.client_program,
       cell.cache_bytes, cell.batch, cell.sync,
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
