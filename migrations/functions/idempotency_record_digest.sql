-- Digest of a record; see `usage_record_digest`.
CREATE OR REPLACE FUNCTION idempotency_record_digest(d idempotency_record) RETURNS bytea LANGUAGE sql STABLE
AS $$
SELECT substring(sha256(convert_to(ROW(
  d.organization_id, d.operation, d.key, encode(d.fingerprint, 'hex'), d.reservation_id, d.at_most_once, d.state,
  d.status, d.content_type, d.headers, d.charged_micro, d.body_stored, extract(epoch FROM d.created_at),
  extract(epoch FROM d.completed_at), extract(epoch FROM d.expires_at))::text, 'UTF8')) FOR 8)
$$;
