-- All output tokens of a receipt. A count that is NULL is 0.
CREATE OR REPLACE FUNCTION usage_output_tokens(u usage_record) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$
SELECT u.output_text + COALESCE(u.output_reasoning, 0) + COALESCE(u.output_image, 0) + COALESCE(u.output_audio, 0)
$$;
