-- The UTC day of a UUIDv7.
CREATE OR REPLACE FUNCTION day_of_id(p_id uuid) RETURNS date LANGUAGE sql IMMUTABLE
AS $$
SELECT DATE '1970-01-01' + (('x' || translate(left(p_id::text, 13), '-', ''))::bit(48)::bigint / 86400000)::integer
$$;
