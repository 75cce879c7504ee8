-- Eight bytes of SHA-256 over a text that no session setting changes: times as seconds, floating-point numbers as their bytes.
-- The columns are listed, so that a column that is added later leaves the digests of older rows valid. A deployment and a price
-- version have the same text in either of their columns; only one is set.
CREATE OR REPLACE FUNCTION usage_record_digest(u usage_record) RETURNS bytea LANGUAGE sql STABLE
AS $$
SELECT substring(sha256(convert_to(ROW(
  u.id, u.organization_id, u.key_id, extract(epoch FROM u.created_at),
  NULLIF(concat(u.price_version_uuid, u.price_version_id), ''), u.hold_micro,
  u.charged_micro, u.uncollected_micro, u.input_text, u.input_cache_read, u.input_cache_write_5m,
  u.input_cache_write_1h, u.input_image, u.input_audio, u.output_text, u.output_reasoning, u.output_image,
  u.output_audio, u.images, u.characters, encode(float8send(u.seconds), 'hex'), u.first_token_ms, u.total_ms,
  u.attempts, u.status, u.streamed, u.usage_estimated, u.operation, u.model, u.provider,
  NULLIF(concat(u.deployment_uuid, u.deployment_id), ''), u.error_code, u.attempt_log, u.priced_by)::text, 'UTF8')) FOR 8)
$$;
