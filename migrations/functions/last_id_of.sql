-- The highest id of a UTC day.
CREATE OR REPLACE FUNCTION last_id_of(p_day date) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$
SELECT (lpad(to_hex((p_day + 1 - DATE '1970-01-01') * 86400000::bigint - 1), 12, '0') || 'ffffffffffffffffffff')::uuid
$$;
