-- All input tokens of a receipt. A count that is NULL is 0.
CREATE OR REPLACE FUNCTION usage_input_tokens(u usage_record) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$
SELECT u.input_text + COALESCE(u.input_cache_read, 0) + COALESCE(u.input_cache_write_5m, 0)
       + COALESCE(u.input_cache_write_1h, 0) + COALESCE(u.input_image, 0) + COALESCE(u.input_audio, 0)
$$;
