-- The model catalogue: what clients may request (`model`), where it runs (`deployment`), and what it costs.

-- `limits` are the request limits of the catalogue file for all callers together; NULL: none. Columns named `decided_...`
-- hold decisions of an operator, which override the catalogue file; NULL: the file applies.
CREATE TABLE model (
  id text NOT NULL,
  display_name text NOT NULL,
  modality text NOT NULL,
  input_modalities text[] NOT NULL,
  output_modalities text[] NOT NULL,
  status text NOT NULL,
  released_on date,
  retires_on date,
  aliases text[] NOT NULL,
  context_length integer,
  max_output_tokens integer,
  features jsonb NOT NULL,
  tokens_per_byte double precision NOT NULL,
  media jsonb,
  source text NOT NULL,
  enabled boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  limits jsonb,
  decided_enabled boolean,
  decided_limits jsonb,
  CONSTRAINT model_pkey PRIMARY KEY (id),
  CONSTRAINT model_modality_check CHECK (
    modality IN ('text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music')
  ),
  CONSTRAINT model_status_check CHECK (status IN ('active', 'deprecated', 'disabled')),
  CONSTRAINT model_source_check CHECK (source IN ('builtin', 'file', 'admin')),
  CONSTRAINT model_enabled_check CHECK (NOT enabled OR status <> 'disabled'),
  CONSTRAINT model_limits_check CHECK (context_length > 0 AND max_output_tokens > 0)
);

CREATE TABLE deployment (
  id uuid NOT NULL,
  model_id text NOT NULL,
  provider text NOT NULL,
  upstream_model text NOT NULL,
  dialect text,
  priority integer NOT NULL,
  weight integer NOT NULL,
  quirks jsonb NOT NULL,
  settings jsonb NOT NULL,
  source text NOT NULL,
  enabled boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  decided_enabled boolean,
  decided_priority integer,
  decided_weight integer,
  CONSTRAINT deployment_pkey PRIMARY KEY (id),
  CONSTRAINT deployment_model_id_fkey FOREIGN KEY (model_id) REFERENCES model (id),
  CONSTRAINT deployment_source_check CHECK (source IN ('builtin', 'file', 'admin')),
  CONSTRAINT deployment_weight_check CHECK (weight > 0),
  CONSTRAINT deployment_decided_check CHECK (decided_priority >= 0 AND decided_weight > 0)
);
CREATE INDEX deployment_model_id_index ON deployment (model_id);

-- The history of prices; append-only.
CREATE TABLE price_version (
  id uuid NOT NULL,
  model_id text NOT NULL,
  deployment_id uuid,
  effective_from timestamptz NOT NULL,
  effective_to timestamptz,
  revision integer NOT NULL,
  content jsonb,
  source text NOT NULL,
  reference text,
  checked_at date,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT price_version_pkey PRIMARY KEY (id),
  CONSTRAINT price_version_model_id_fkey FOREIGN KEY (model_id) REFERENCES model (id),
  CONSTRAINT price_version_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployment (id),
  CONSTRAINT price_version_source_check CHECK (source IN ('builtin', 'file', 'admin')),
  CONSTRAINT price_version_revision_check CHECK (revision > 0),
  CONSTRAINT price_version_period_check CHECK (effective_to > effective_from)
);
-- A price of the model itself has no deployment; two of them must collide like any others.
CREATE UNIQUE INDEX price_version_place_index
  ON price_version (model_id, deployment_id, effective_from, revision) NULLS NOT DISTINCT;

-- Keys and base URLs of providers that an operator has stored, encrypted. They override those of the environment.
CREATE TABLE provider_credential (
  name text NOT NULL,
  sealed text NOT NULL,
  last4 text,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT provider_credential_pkey PRIMARY KEY (name)
);

-- Named provider instances that operators have stored. `sealed`: module, base URL and keys, encrypted together.
CREATE TABLE provider_instance (
  id text NOT NULL,
  sealed text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT provider_instance_pkey PRIMARY KEY (id)
);
