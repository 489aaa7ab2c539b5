-- Version 5: git's hash of the engine's sources, by which runs of one version have to agree.

ALTER TABLE campaign ADD COLUMN engine_tree TEXT;
