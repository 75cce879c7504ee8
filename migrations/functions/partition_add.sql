-- Ends the last partition of a table, which takes all later ids, before the UTC day `p_day`, and adds an empty one that begins
-- with it. The table is partitioned by ranges of `id`, a UUIDv7, and a partition is named after its first day. Does nothing when
-- the last one begins with that day or later.
--
-- Requests wait while the table is locked: for its transactions in progress, at most 50 ms, then some milliseconds. A last
-- partition with rows is scanned as well, unless a valid CHECK constraint `day_range` shows that they are older than `p_day`.
-- Raises `lock_not_available` when another process changes the partitions, and when the lock is not granted in time.
CREATE OR REPLACE FUNCTION partition_add(p_table text, p_day date) RETURNS void LANGUAGE plpgsql SET lock_timeout = '50ms'
AS $$
DECLARE
  v_last text;
  v_first uuid;
  v_added text := p_table || to_char(p_day, '_YYYYMMDD');
BEGIN
  -- Conflicts with itself and with no request.
  EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE NOWAIT', p_table);
  SELECT p.name, p.first_id INTO v_last, v_first FROM day_partition p WHERE p.table_name = p_table AND p.is_last;
  IF day_of_id(v_first) >= p_day THEN
    RETURN;
  END IF;

  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', v_added, p_table);
  EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_table, v_last);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', p_table, v_last, v_first, first_id_of(p_day));
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (MAXVALUE)', p_table, v_added, first_id_of(p_day));
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS day_range', v_last);
END
$$;
