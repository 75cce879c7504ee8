-- Video and music jobs, their artifacts, and the objects in the object storage. The row is the truth about a job; queues only
-- wake workers. A job has the id of the request that submitted it, and so have its reservation and its receipt.

-- `json` and not `jsonb` for client input: it is returned as it was sent, and `jsonb` refuses some characters.
-- `completed_at IS NULL` is equivalent to "not in a final state", so the indexes of the sweeps contain only open jobs.
-- `submission_account`: the account that the submission went to, since no other account knows it. `trace_parent`: the trace of
-- the request that submitted the job.
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
  input_types jsonb,
  submission_account text,
  trace_parent text,
  CONSTRAINT media_job_pkey PRIMARY KEY (id),
  CONSTRAINT media_job_kind_check CHECK (kind IN ('video', 'music')),
  CONSTRAINT media_job_status_check CHECK (
    (status IN ('queued', 'submitted', 'running') AND completed_at IS NULL)
    OR (status IN ('succeeded', 'failed', 'canceled', 'expired') AND completed_at IS NOT NULL)
  ),
  CONSTRAINT media_job_started_check CHECK (
    status NOT IN ('submitted', 'running', 'succeeded') OR started_at IS NOT NULL
  ),
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
CREATE INDEX media_job_completed_index ON media_job (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX media_job_organization_index ON media_job (organization_id, created_at, id);

-- The foreign key does not cascade: a job is removed after its objects (README of src/media-jobs), and not before.
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

-- What the object storage contains, and until when (src/core/storage/README.md).
CREATE TABLE stored_object (
  key text COLLATE "C" NOT NULL,
  organization_id uuid NOT NULL,
  kind text NOT NULL,
  size_bytes bigint,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  delete_at timestamptz NOT NULL,
  sweep_after timestamptz NOT NULL,
  CONSTRAINT stored_object_pkey PRIMARY KEY (key),
  CONSTRAINT stored_object_kind_check CHECK (kind IN ('image', 'video', 'music')),
  CONSTRAINT stored_object_size_check CHECK (size_bytes >= 0)
);
CREATE INDEX stored_object_sweep_index ON stored_object (sweep_after);
