-- SHA-256 over what an export has recorded about a day, encoded as bytes, which no session setting changes.
CREATE OR REPLACE FUNCTION ledger_archive_digest(a ledger_archive) RETURNS bytea LANGUAGE sql STABLE
AS $$
SELECT sha256(date_send(a.day) || textsend(a.object_key) || int8send(a.size_bytes) || a.content_digest
              || int8send(a.reservation_count) || int8send(a.charge_count) || int8send(a.charged_micro)
              || int8send(a.uncollected_micro) || numeric_send(a.checksum) || int8send(a.last_entry_id) || timestamptz_send(a.exported_at))
$$;
