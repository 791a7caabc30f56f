-- SPDX-License-Identifier: Apache-2.0
-- A table in memory with many rows, an index, an aggregate and an update.
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, value REAL, kind INT);
INSERT INTO item
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 150000)
  SELECT i, 'item number ' || i, i * 1.5, i * 7919 % 1009 FROM n;
CREATE INDEX item_kind ON item (kind, name);
SELECT count(*), sum(total) FROM
  (SELECT kind, sum(value) AS total, group_concat(name) FROM item GROUP BY kind);
UPDATE item SET name = upper(name) || kind WHERE id % 3 = 0;
SELECT count(DISTINCT substr(name, 3, 12)) FROM item;
