-- Webhooks: signing secrets, deliveries and their attempts.

CREATE TABLE organization_webhook_secret (
  organization_id uuid NOT NULL,
  sealed text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revealed_at timestamptz,
  CONSTRAINT organization_webhook_secret_pkey PRIMARY KEY (organization_id),
  CONSTRAINT organization_webhook_secret_organization_id_fkey FOREIGN KEY (organization_id)
    REFERENCES organization (id) ON DELETE CASCADE
);

-- One row per event of a job with a webhook, written in the transaction that ends the job, or per test event. It contains all
-- that delivery needs: `target_host` is the host of the URL without its port, in lower case. No foreign key to the job:
-- deliveries have their own retention. `prior_attempts`: those before the current round of attempts.
CREATE TABLE webhook_delivery (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  job_id uuid,
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
  prior_attempts smallint NOT NULL DEFAULT 0,
  CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_delivery_event_check CHECK (
    (event IN ('job.completed', 'job.failed') AND job_id IS NOT NULL) OR (event = 'webhook.test' AND job_id IS NULL)
  ),
  CONSTRAINT webhook_delivery_round_check CHECK (prior_attempts BETWEEN 0 AND attempt),
  CONSTRAINT webhook_delivery_state_check CHECK (
    (state = 'pending' AND ended_at IS NULL)
    OR (state IN ('delivered', 'exhausted', 'gone', 'withdrawn') AND ended_at IS NOT NULL AND lease_until IS NULL)
  )
);
CREATE UNIQUE INDEX webhook_delivery_event_index ON webhook_delivery (job_id, event);
CREATE INDEX webhook_delivery_due_index ON webhook_delivery (organization_id, next_at) WHERE state = 'pending';
CREATE INDEX webhook_delivery_lease_index ON webhook_delivery (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX webhook_delivery_created_index ON webhook_delivery (created_at);
CREATE INDEX webhook_delivery_organization_index ON webhook_delivery (organization_id, created_at, id);

CREATE TABLE webhook_attempt (
  delivery_id uuid NOT NULL,
  number smallint NOT NULL,
  started_at timestamptz NOT NULL,
  status smallint,
  error text,
  duration_ms integer NOT NULL,
  CONSTRAINT webhook_attempt_pkey PRIMARY KEY (delivery_id, number),
  CONSTRAINT webhook_attempt_delivery_id_fkey FOREIGN KEY (delivery_id)
    REFERENCES webhook_delivery (id) ON DELETE CASCADE,
  CONSTRAINT webhook_attempt_outcome_check CHECK (duration_ms >= 0 AND num_nonnulls(status, error) > 0)
);
