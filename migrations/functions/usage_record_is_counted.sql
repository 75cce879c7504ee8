-- Adds the receipts of a statement to `usage_delta`, one row per group, without a lock that other transactions could wait for.
CREATE OR REPLACE FUNCTION usage_record_is_counted() RETURNS trigger LANGUAGE plpgsql
AS $$
BEGIN
  INSERT INTO usage_delta
  SELECT organization_id, key_id, date_trunc('hour', created_at, 'UTC'), model, operation,
         CASE WHEN status < 400 THEN 'success' ELSE COALESCE(error_code, 'canceled') END,
         count(*), bit_or(1::bigint << extract(minute FROM created_at AT TIME ZONE 'UTC')::integer),
         sum(input_text + input_cache_read + input_cache_write_5m + input_cache_write_1h + input_image + input_audio),
         sum(output_text + output_reasoning + output_image + output_audio), sum(charged_micro)
    FROM inserted GROUP BY 1, 2, 3, 4, 5, 6;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER usage_record_is_counted AFTER INSERT ON usage_record
  REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION usage_record_is_counted();
