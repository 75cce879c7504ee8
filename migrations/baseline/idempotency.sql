-- Idempotency keys: the request in progress or the stored response (src/auth/idempotency/README.md).
--
-- A record names the reservation of the request that owns it, and a keyed reservation is marked as such. Whatever ends the
-- hold (its owner, the sweep, a void) finds the record and ends it in the same transaction; a late owner, whose hold has
-- already ended, finds nothing.

CREATE TABLE idempotency_record (
  organization_id uuid NOT NULL,
  operation text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  reservation_id uuid NOT NULL,
  at_most_once boolean NOT NULL DEFAULT false,
  state text NOT NULL DEFAULT 'in_progress',
  status smallint,
  content_type text,
  headers jsonb,
  charged_micro bigint,
  body_stored boolean,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  completed_at timestamptz,
  expires_at timestamptz,
  CONSTRAINT idempotency_record_pkey PRIMARY KEY (organization_id, operation, key),
  CONSTRAINT idempotency_record_fingerprint_check CHECK (octet_length(fingerprint) = 32),
  CONSTRAINT idempotency_record_state_check CHECK (
    (state = 'in_progress'
     AND num_nonnulls(status, content_type, headers, charged_micro, body_stored, completed_at, expires_at) = 0)
    OR (state = 'completed' AND num_nulls(status, headers, charged_micro, body_stored, completed_at, expires_at) = 0
        AND charged_micro >= 0)
  )
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX idempotency_record_reservation_index ON idempotency_record (reservation_id);
CREATE INDEX idempotency_record_expiry_index ON idempotency_record (expires_at) WHERE state = 'completed';

-- Bodies are separate from the records, which stay small. A response is `head`, the charge in decimal digits, `tail`; without
-- a tail it is `head` alone.
CREATE TABLE idempotency_body (
  reservation_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  head bytea NOT NULL,
  tail bytea,
  bytes bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  digest bytea,
  CONSTRAINT idempotency_body_pkey PRIMARY KEY (reservation_id)
);
CREATE INDEX idempotency_body_created_index ON idempotency_body (created_at);

CREATE TABLE idempotency_storage (
  organization_id uuid NOT NULL,
  stored_bytes bigint NOT NULL,
  CONSTRAINT idempotency_storage_pkey PRIMARY KEY (organization_id),
  CONSTRAINT idempotency_storage_bytes_check CHECK (stored_bytes >= 0)
) WITH (fillfactor = 50);

-- One row per stored response with a digest of its record. It is removed with the record, but only after the record has
-- expired, so that the auditor reports a response that was removed too early.
CREATE TABLE idempotency_seal (
  reservation_id uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  digest bytea NOT NULL,
  CONSTRAINT idempotency_seal_pkey PRIMARY KEY (reservation_id)
);
