-- Version 4: parts beside like parts of others, and how often they ask for memory.

ALTER TABLE component ADD COLUMN samples INTEGER;
ALTER TABLE component ADD COLUMN allocations_per_op REAL;
ALTER TABLE component ADD COLUMN library TEXT;
ALTER TABLE component ADD COLUMN counterpart TEXT;
