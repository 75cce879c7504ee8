import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Video and music jobs with what they leave behind: their artifacts, and what has to be told of them. The row is the
 * truth about a job; queues only wake those who work on it.
 *
 * A job has the id of the request that submitted it, and so have its reservation and its receipt.
 */
export class CreateMediaJobs1795500000000 implements MigrationInterface {
  readonly name = 'CreateMediaJobs1795500000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(JOB);
    await runner.query(ENDS_ONCE);
    await runner.query(ARTIFACT);
    await runner.query(DELIVERY);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE webhook_delivery, media_artifact, media_job;
      DROP FUNCTION media_job_ends_once();
    `);
  }
}

/**
 * `json` and not `jsonb` for what a client sent: it is given back as it came, and `jsonb` refuses some of its characters.
 * `completed_at IS NULL` says the same as "not in a final state", so that the sweeps' indexes hold only jobs under way.
 */
const JOB = `
  CREATE TABLE media_job (
    id uuid NOT NULL,
    organization_id uuid NOT NULL,
    key_id uuid NOT NULL,
    kind text NOT NULL,
    model text NOT NULL,
    status text NOT NULL DEFAULT 'queued',
    progress smallint,
    estimated_cost_micro bigint NOT NULL,
    max_cost_micro bigint NOT NULL,
    cost_micro bigint NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    params json NOT NULL,
    settings json NOT NULL,
    route text[] NOT NULL,
    webhook_url text,
    metadata json NOT NULL,
    provider text,
    deployment_id text,
    price_version_id text,
    provider_token text,
    provider_handle jsonb,
    submissions smallint NOT NULL DEFAULT 0,
    submit_started_at timestamptz,
    polls integer NOT NULL DEFAULT 0,
    setbacks smallint NOT NULL DEFAULT 0,
    setback_since timestamptz,
    next_run_at timestamptz NOT NULL,
    lease_owner text,
    lease_until timestamptz,
    fence integer NOT NULL DEFAULT 0,
    version integer NOT NULL DEFAULT 0,
    finalizing_at timestamptz,
    cancel_due_at timestamptz,
    cancel_attempts smallint NOT NULL DEFAULT 0,
    deleted_at timestamptz,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    completed_at timestamptz,
    expires_at timestamptz NOT NULL,
    CONSTRAINT media_job_pkey PRIMARY KEY (id),
    CONSTRAINT media_job_kind_check CHECK (kind IN ('video', 'music')),
    CONSTRAINT media_job_status_check CHECK (
      (status IN ('queued', 'submitted', 'running') AND completed_at IS NULL)
      OR (status IN ('succeeded', 'failed', 'canceled', 'expired') AND completed_at IS NOT NULL)
    ),
    CONSTRAINT media_job_started_check CHECK (status NOT IN ('submitted', 'running', 'succeeded') OR started_at IS NOT NULL),
    CONSTRAINT media_job_error_check CHECK (
      num_nonnulls(error_code, error_message) = CASE status WHEN 'failed' THEN 2 ELSE 0 END
    ),
    CONSTRAINT media_job_cost_check CHECK (
      cost_micro >= 0 AND cost_micro <= estimated_cost_micro AND estimated_cost_micro <= max_cost_micro
      AND (cost_micro = 0 OR status = 'succeeded')
    ),
    CONSTRAINT media_job_progress_check CHECK (progress BETWEEN 0 AND 100),
    CONSTRAINT media_job_handle_check CHECK (
      provider_handle IS NULL OR (submit_started_at IS NOT NULL AND octet_length(provider_handle::text) <= 4096)
    ),
    CONSTRAINT media_job_lease_check CHECK (
      num_nonnulls(lease_owner, lease_until) = 0
      OR (num_nonnulls(lease_owner, lease_until) = 2 AND completed_at IS NULL)
    ),
    CONSTRAINT media_job_deleted_check CHECK (deleted_at IS NULL OR completed_at IS NOT NULL)
  ) WITH (fillfactor = 70);
  CREATE INDEX media_job_due_index ON media_job (next_run_at) WHERE completed_at IS NULL;
  CREATE INDEX media_job_expiry_index ON media_job (expires_at) WHERE completed_at IS NULL;
  CREATE INDEX media_job_cancel_index ON media_job (cancel_due_at) WHERE cancel_due_at IS NOT NULL;
  CREATE INDEX media_job_deleted_index ON media_job (deleted_at) WHERE deleted_at IS NOT NULL;
`;

/** The last word on "exactly one final state": whatever the functions get wrong, a second end is a failed transaction. */
const ENDS_ONCE = `
  CREATE FUNCTION media_job_ends_once() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'DELETE' THEN
      RAISE EXCEPTION 'job % has not ended', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.completed_at IS NOT NULL
       AND (NEW.status, NEW.cost_micro, NEW.error_code, NEW.error_message, NEW.completed_at)
           IS DISTINCT FROM (OLD.status, OLD.cost_micro, OLD.error_code, OLD.error_message, OLD.completed_at) THEN
      RAISE EXCEPTION 'job % has ended (%)', OLD.id, OLD.status USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.id, NEW.organization_id, NEW.key_id, NEW.kind, NEW.model, NEW.estimated_cost_micro, NEW.max_cost_micro,
        NEW.webhook_url, NEW.created_at, NEW.expires_at)
       IS DISTINCT FROM
       (OLD.id, OLD.organization_id, OLD.key_id, OLD.kind, OLD.model, OLD.estimated_cost_micro, OLD.max_cost_micro,
        OLD.webhook_url, OLD.created_at, OLD.expires_at) THEN
      RAISE EXCEPTION 'job % cannot become another job', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER media_job_ends_once BEFORE UPDATE ON media_job
    FOR EACH ROW EXECUTE FUNCTION media_job_ends_once();
  CREATE TRIGGER media_job_under_way_stays BEFORE DELETE ON media_job
    FOR EACH ROW WHEN (OLD.completed_at IS NULL) EXECUTE FUNCTION media_job_ends_once();
`;

/** The reference does not cascade: a job goes when its objects do (README of `src/media-jobs`), and not before. */
const ARTIFACT = `
  CREATE TABLE media_artifact (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    job_id uuid NOT NULL,
    position smallint NOT NULL,
    type text NOT NULL,
    content_type text NOT NULL,
    size_bytes bigint NOT NULL,
    width integer,
    height integer,
    duration_seconds double precision NOT NULL,
    storage_key text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT media_artifact_pkey PRIMARY KEY (id),
    CONSTRAINT media_artifact_job_id_fkey FOREIGN KEY (job_id) REFERENCES media_job (id),
    CONSTRAINT media_artifact_type_check CHECK (type IN ('video', 'audio')),
    CONSTRAINT media_artifact_size_check CHECK (
      size_bytes >= 0 AND duration_seconds >= 0 AND width > 0 AND height > 0 AND num_nonnulls(width, height) <> 1
    )
  );
  CREATE UNIQUE INDEX media_artifact_job_index ON media_artifact (job_id, position);
  CREATE INDEX media_artifact_created_index ON media_artifact (created_at);
`;

/**
 * One row for each event of a job that somebody wants to hear of, written in the transaction that ends the job. It has all
 * that delivery decides by: `target_host` is the host of the address without its port, in lower case.
 */
const DELIVERY = `
  CREATE TABLE webhook_delivery (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    job_id uuid NOT NULL,
    organization_id uuid NOT NULL,
    event text NOT NULL,
    url text NOT NULL,
    target_host text NOT NULL,
    state text NOT NULL DEFAULT 'pending',
    attempt smallint NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL,
    lease_until timestamptz,
    last_status smallint,
    last_error text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_delivery_job_id_fkey FOREIGN KEY (job_id) REFERENCES media_job (id) ON DELETE CASCADE,
    CONSTRAINT webhook_delivery_event_check CHECK (event IN ('job.completed', 'job.failed')),
    CONSTRAINT webhook_delivery_state_check CHECK (
      (state = 'pending' AND ended_at IS NULL)
      OR (state IN ('delivered', 'exhausted', 'gone', 'withdrawn') AND ended_at IS NOT NULL AND lease_until IS NULL)
    )
  );
  CREATE UNIQUE INDEX webhook_delivery_event_index ON webhook_delivery (job_id, event);
  CREATE INDEX webhook_delivery_due_index ON webhook_delivery (organization_id, next_at) WHERE state = 'pending';
  CREATE INDEX webhook_delivery_lease_index ON webhook_delivery (lease_until) WHERE lease_until IS NOT NULL;
  CREATE INDEX webhook_delivery_created_index ON webhook_delivery (created_at);
`;
