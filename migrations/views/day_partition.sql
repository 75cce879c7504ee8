-- The partitions of the tables that are partitioned by ranges of `id`, a UUIDv7, and named after their first UTC day. The first
-- one has no `first_id` and the last one no `end_id`. `state`: `attached`; `detaching` when a detachment has not completed;
-- `detached` when the table is to be dropped.
CREATE OR REPLACE VIEW day_partition AS
WITH parent AS (
  SELECT p.partrelid AS oid, c.relname AS name, c.relnamespace AS schema
    FROM pg_partitioned_table p
    JOIN pg_class c ON c.oid = p.partrelid
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
   WHERE p.partstrat = 'r' AND p.partnatts = 1 AND a.atttypid = 'uuid'::regtype AND c.relnamespace = current_schema()::regnamespace
)
SELECT parent.name::text AS table_name, part.relname::text AS name,
       (regexp_match(bound.text, 'FROM \(''([^'']+)''\)'))[1]::uuid AS first_id,
       (regexp_match(bound.text, 'TO \(''([^'']+)''\)'))[1]::uuid AS end_id,
       COALESCE(bound.text LIKE '%TO (MAXVALUE)', false) AS is_last,
       CASE WHEN i.inhrelid IS NULL THEN 'detached' WHEN i.inhdetachpending THEN 'detaching' ELSE 'attached' END AS state
  FROM parent
  JOIN pg_class part ON part.relnamespace = parent.schema AND part.relkind = 'r'
  LEFT JOIN pg_inherits i ON i.inhrelid = part.oid AND i.inhparent = parent.oid,
       LATERAL (SELECT pg_get_expr(part.relpartbound, part.oid) AS text) bound
 WHERE i.inhrelid IS NOT NULL OR part.relname ~ ('^' || parent.name || '_\d{8}$');
