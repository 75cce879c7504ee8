import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What `record_violations` compares receipts and stored answers with:
 *
 * - `usage_record.digest` and `idempotency_body.digest`, over all other columns of the row when it was inserted;
 * - `idempotency_seal`, a row for each answer that is kept under a key, with a digest of its record. It goes with the
 *   record, but only when the time of the record is over, so that an answer that was removed earlier is reported;
 * - `receipt_history`: since when receipts have digests, and from when on all of them must be there. Retention
 *   (`usage_prune`) adds a row when it moves the latter; it appends, so that no process waits for another.
 *
 * Triggers write all of it, in the transaction of the row. Digests have no key: they reveal mistakes and repairs by hand,
 * but not an attacker who recomputes them.
 */
export class SealReceiptsAndAnswers1795700003001 implements MigrationInterface {
  readonly name = 'SealReceiptsAndAnswers1795700003001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(RECEIPTS);
    await runner.query(HISTORY);
    await runner.query(BODIES);
    await runner.query(RECORDS);
    await runner.query(`INSERT INTO idempotency_seal (reservation_id, expires_at, digest)
      SELECT d.reservation_id, d.expires_at, idempotency_record_digest(d) FROM idempotency_record d WHERE d.state = 'completed'`);
    await runner.query(prune(ADVANCE_HISTORY));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(prune(''));
    await runner.query(`
      DROP TRIGGER idempotency_record_is_unsealed ON idempotency_record;
      DROP TRIGGER idempotency_record_completes_sealed ON idempotency_record;
      DROP TRIGGER idempotency_record_starts_sealed ON idempotency_record;
      DROP TRIGGER idempotency_body_is_sealed ON idempotency_body;
      DROP TRIGGER usage_record_is_sealed ON usage_record;
      DROP FUNCTION idempotency_record_is_unsealed(), idempotency_record_is_sealed(),
                    idempotency_record_digest(idempotency_record), idempotency_body_is_sealed(),
                    idempotency_body_digest(uuid, uuid, bytea, bytea), usage_record_is_sealed(), usage_record_digest(usage_record);
      DROP TABLE idempotency_seal, receipt_history;
      ALTER TABLE idempotency_body DROP COLUMN digest;
      ALTER TABLE usage_record DROP COLUMN digest;
    `);
  }
}

/**
 * Eight bytes of SHA-256 over a text that no setting of a session changes: times as seconds, floating point numbers as
 * their bytes. The columns are listed, so that one that is added later leaves the digests of older rows valid.
 */
const RECEIPTS = `
  ALTER TABLE usage_record ADD COLUMN digest bytea;

  CREATE FUNCTION usage_record_digest(u usage_record) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT substring(sha256(convert_to(ROW(
      u.id, u.organization_id, u.key_id, extract(epoch FROM u.created_at), u.price_version_id, u.hold_micro,
      u.charged_micro, u.uncollected_micro, u.input_text, u.input_cache_read, u.input_cache_write_5m,
      u.input_cache_write_1h, u.input_image, u.input_audio, u.output_text, u.output_reasoning, u.output_image,
      u.output_audio, u.images, u.characters, encode(float8send(u.seconds), 'hex'), u.first_token_ms, u.total_ms,
      u.attempts, u.status, u.streamed, u.usage_estimated, u.operation, u.model, u.provider, u.deployment_id,
      u.error_code, u.attempt_log, u.priced_by)::text, 'UTF8')) FOR 8)
  $$;

  CREATE FUNCTION usage_record_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.digest := usage_record_digest(NEW);
    RETURN NEW;
  END $$;
  CREATE TRIGGER usage_record_is_sealed BEFORE INSERT ON usage_record
    FOR EACH ROW EXECUTE FUNCTION usage_record_is_sealed();
`;

/** All receipts are there when the totals count as many as there are: else retention has removed some of them before. */
const HISTORY = `
  CREATE TABLE receipt_history (
    id bigint GENERATED ALWAYS AS IDENTITY,
    kept_since timestamptz NOT NULL,
    sealed_since timestamptz,
    CONSTRAINT receipt_history_pkey PRIMARY KEY (id)
  );
  INSERT INTO receipt_history (kept_since, sealed_since)
    SELECT CASE WHEN (SELECT count(*) FROM usage_record)
                     = (SELECT COALESCE(sum(requests), 0) FROM usage_by_key WHERE span = 'day')
                       + (SELECT COALESCE(sum(requests), 0) FROM usage_delta)
                THEN '-infinity' ELSE clock_timestamp() END,
           clock_timestamp();
`;

/** Of digests of the two parts, so that an answer of tens of megabytes is not copied. */
const BODIES = `
  ALTER TABLE idempotency_body ADD COLUMN digest bytea;

  CREATE FUNCTION idempotency_body_digest(p_id uuid, p_organization uuid, p_head bytea, p_tail bytea)
  RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT substring(sha256(uuid_send(p_id) || uuid_send(p_organization) || sha256(p_head)
                            || COALESCE(sha256(p_tail), '')) FOR 8)
  $$;

  CREATE FUNCTION idempotency_body_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.digest := idempotency_body_digest(NEW.reservation_id, NEW.organization_id, NEW.head, NEW.tail);
    RETURN NEW;
  END $$;
  CREATE TRIGGER idempotency_body_is_sealed BEFORE INSERT ON idempotency_body
    FOR EACH ROW EXECUTE FUNCTION idempotency_body_is_sealed();
`;

const RECORDS = `
  CREATE TABLE idempotency_seal (
    reservation_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    digest bytea NOT NULL,
    CONSTRAINT idempotency_seal_pkey PRIMARY KEY (reservation_id)
  );

  CREATE FUNCTION idempotency_record_digest(d idempotency_record) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT substring(sha256(convert_to(ROW(
      d.organization_id, d.operation, d.key, encode(d.fingerprint, 'hex'), d.reservation_id, d.at_most_once, d.state,
      d.status, d.content_type, d.headers, d.charged_micro, d.body_stored, extract(epoch FROM d.created_at),
      extract(epoch FROM d.completed_at), extract(epoch FROM d.expires_at))::text, 'UTF8')) FOR 8)
  $$;

  CREATE FUNCTION idempotency_record_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO idempotency_seal (reservation_id, expires_at, digest)
    VALUES (NEW.reservation_id, NEW.expires_at, idempotency_record_digest(NEW));
    RETURN NULL;
  END $$;
  CREATE TRIGGER idempotency_record_starts_sealed AFTER INSERT ON idempotency_record
    FOR EACH ROW WHEN (NEW.state = 'completed') EXECUTE FUNCTION idempotency_record_is_sealed();
  CREATE TRIGGER idempotency_record_completes_sealed AFTER UPDATE ON idempotency_record
    FOR EACH ROW WHEN (OLD.state = 'in_progress' AND NEW.state = 'completed')
    EXECUTE FUNCTION idempotency_record_is_sealed();

  CREATE FUNCTION idempotency_record_is_unsealed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM idempotency_seal s WHERE s.reservation_id = OLD.reservation_id AND s.expires_at <= clock_timestamp();
    RETURN NULL;
  END $$;
  CREATE TRIGGER idempotency_record_is_unsealed AFTER DELETE ON idempotency_record
    FOR EACH ROW WHEN (OLD.state = 'completed') EXECUTE FUNCTION idempotency_record_is_unsealed();
`;

/** In the transaction that removes the receipts. Most calls add nothing: a run of them has one `p_before`. */
const ADVANCE_HISTORY = `
    IF v_count > 0 THEN
      INSERT INTO receipt_history (kept_since)
        SELECT p_before WHERE NOT EXISTS (SELECT FROM receipt_history WHERE kept_since >= p_before);
    END IF;`;

/** `usage_prune` as it was (CreateUsageAggregates), with one more step at its end. */
function prune(step: string): string {
  return `
  CREATE OR REPLACE FUNCTION usage_prune(p_before timestamptz, p_limit integer) RETURNS integer LANGUAGE plpgsql
  SET enable_seqscan = off
  AS $$
  DECLARE
    v_count integer;
  BEGIN
    DELETE FROM usage_record WHERE id = ANY (ARRAY(
      SELECT old.id
        FROM organization o,
             LATERAL (SELECT r.id FROM usage_record r
                       WHERE r.organization_id = o.id AND r.created_at < p_before
                       ORDER BY r.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED) old
       LIMIT p_limit));
    GET DIAGNOSTICS v_count = ROW_COUNT;${step}
    RETURN v_count;
  END $$`;
}
