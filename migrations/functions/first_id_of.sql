-- The lowest id of a UTC day: ids are UUIDv7 and begin with milliseconds since 1970.
CREATE OR REPLACE FUNCTION first_id_of(p_day date) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$
SELECT (lpad(to_hex((p_day - DATE '1970-01-01') * 86400000::bigint), 12, '0') || '00000000000000000000')::uuid
$$;
