-- Partitions of the coming days of every table by day, named after their day (src/core/partitions/README.md). `..._past` takes
-- the ids of the days before today, and the last one those of later days.
DO $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_table text;
  v_ahead integer;
  v_name text;
  v_low text;
  v_high text;
BEGIN
  FOREACH v_table IN ARRAY '{usage_record,ended_reservation}'::text[] LOOP
    v_name := v_table || '_past';
    v_low := 'MINVALUE';
    FOR v_ahead IN 0..9 LOOP
      v_high := CASE v_ahead WHEN 9 THEN 'MAXVALUE'
                ELSE quote_literal(lpad(to_hex((v_today + v_ahead - DATE '1970-01-01') * 86400000::bigint), 12, '0')
                                   || repeat('0', 20)) END;
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', v_name, v_table, v_low, v_high);
      v_name := v_table || to_char(v_today + v_ahead, '_YYYYMMDD');
      v_low := v_high;
    END LOOP;
  END LOOP;
END
$$;
