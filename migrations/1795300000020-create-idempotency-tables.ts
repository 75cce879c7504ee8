import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What an `Idempotency-Key` leaves behind: who is at work on it, or what was answered (src/auth/idempotency/README.md).
 *
 * A record names the reservation of the request that owns it, and a keyed reservation says that it has one. So whatever
 * ends the hold (its owner, the sweep, a void) finds the record and ends it too, in the same transaction; and a late
 * owner, whose hold somebody else has ended, finds nothing.
 *
 * Bodies are apart from the records, which stay small, and have the id of the reservation too.
 */
export class CreateIdempotencyTables1795300000020 implements MigrationInterface {
  readonly name = 'CreateIdempotencyTables1795300000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE reservation ADD COLUMN keyed boolean NOT NULL DEFAULT false`);
    await runner.query(RECORD);
    await runner.query(BODIES);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_storage, idempotency_body, idempotency_record');
    await runner.query('ALTER TABLE reservation DROP COLUMN keyed');
  }
}

const RECORD = `
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
      (state = 'in_progress' AND num_nonnulls(status, content_type, headers, charged_micro, body_stored, completed_at,
                                              expires_at) = 0)
      OR (state = 'completed' AND num_nulls(status, headers, charged_micro, body_stored, completed_at, expires_at) = 0
          AND charged_micro >= 0)
    )
  ) WITH (fillfactor = 80);
  CREATE UNIQUE INDEX idempotency_record_reservation_index ON idempotency_record (reservation_id);
  CREATE INDEX idempotency_record_expiry_index ON idempotency_record (expires_at) WHERE state = 'completed';
`;

const BODIES = `
  CREATE TABLE idempotency_body (
    reservation_id uuid NOT NULL,
    organization_id uuid NOT NULL,
    -- the answer is head, then the charge in decimal digits, then tail; without a tail it is head alone
    head bytea NOT NULL,
    tail bytea,
    bytes bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT idempotency_body_pkey PRIMARY KEY (reservation_id)
  );

  CREATE TABLE idempotency_storage (
    organization_id uuid NOT NULL,
    stored_bytes bigint NOT NULL,
    CONSTRAINT idempotency_storage_pkey PRIMARY KEY (organization_id),
    CONSTRAINT idempotency_storage_bytes_check CHECK (stored_bytes >= 0)
  ) WITH (fillfactor = 50);
`;
