-- Organizations and their API keys. The secret of a key is never stored: `digest` is its HMAC-SHA256.

-- Limits apply to all keys of the organization together, in addition to those of each key. NULL: no limit. `max_api_keys` is
-- set by operators.
CREATE TABLE organization (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  name text NOT NULL,
  status text NOT NULL DEFAULT 'active',
  created_at timestamptz NOT NULL DEFAULT now(),
  requests_per_second integer,
  requests_per_minute integer,
  tokens_per_minute integer,
  concurrency integer,
  max_api_keys integer NOT NULL DEFAULT 100,
  CONSTRAINT organization_pkey PRIMARY KEY (id),
  CONSTRAINT organization_name_check CHECK (char_length(name) BETWEEN 1 AND 200),
  CONSTRAINT organization_status_check CHECK (status IN ('active', 'suspended')),
  CONSTRAINT organization_limits_check CHECK (
    requests_per_second > 0 AND requests_per_minute > 0 AND tokens_per_minute > 0 AND concurrency > 0
  ),
  CONSTRAINT organization_max_api_keys_check CHECK (max_api_keys BETWEEN 0 AND 10000)
);

-- `revoked_at` may lie in the future: a rotated key works until its grace period ends. A key with `playground_user_id` belongs
-- to the playground of that user.
CREATE TABLE api_key (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  organization_id uuid NOT NULL,
  name text NOT NULL,
  digest bytea NOT NULL,
  prefix text NOT NULL,
  last4 text NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  revoked_at timestamptz,
  expires_at timestamptz,
  replaced_by uuid,
  allowed_ips cidr[],
  allowed_models text[],
  allowed_modalities text[],
  requests_per_second integer,
  requests_per_minute integer,
  tokens_per_minute integer,
  concurrency integer,
  daily_budget_micro bigint,
  monthly_budget_micro bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  created_by uuid,
  playground_user_id uuid,
  CONSTRAINT api_key_pkey PRIMARY KEY (id),
  CONSTRAINT api_key_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization (id),
  CONSTRAINT api_key_replaced_by_fkey FOREIGN KEY (replaced_by) REFERENCES api_key (id),
  CONSTRAINT api_key_name_check CHECK (char_length(name) BETWEEN 1 AND 200),
  CONSTRAINT api_key_digest_check CHECK (octet_length(digest) = 32),
  CONSTRAINT api_key_replaced_by_check CHECK (replaced_by IS NULL OR revoked_at IS NOT NULL),
  -- `audio` covers speech and transcription.
  CONSTRAINT api_key_allowed_check CHECK (
    cardinality(allowed_ips) > 0 AND cardinality(allowed_models) > 0 AND cardinality(allowed_modalities) > 0
    AND allowed_modalities
        <@ ARRAY['text', 'audio', 'image', 'video', 'music', 'embedding', 'speech', 'transcription']
  ),
  CONSTRAINT api_key_limits_check CHECK (
    requests_per_second > 0 AND requests_per_minute > 0 AND tokens_per_minute > 0 AND concurrency > 0
  ),
  CONSTRAINT api_key_budgets_check CHECK (daily_budget_micro >= 0 AND monthly_budget_micro >= 0)
);
CREATE UNIQUE INDEX api_key_digest_index ON api_key (digest);
CREATE INDEX api_key_organization_id_index ON api_key (organization_id, created_at);
CREATE UNIQUE INDEX api_key_playground_index ON api_key (organization_id, playground_user_id)
  WHERE playground_user_id IS NOT NULL;
