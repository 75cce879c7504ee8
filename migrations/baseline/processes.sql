-- What the processes of a deployment share.

-- One row that tells apart the deployments that share a Redis.
CREATE TABLE deployment_identity (
  is_only boolean NOT NULL DEFAULT true,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  renewed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT deployment_identity_pkey PRIMARY KEY (is_only),
  CONSTRAINT deployment_identity_is_only_check CHECK (is_only)
);
INSERT INTO deployment_identity DEFAULT VALUES;

-- Leases of tasks that one process runs at a time. `until`: free afterwards. `owner`: also of the latest lease that has ended.
CREATE TABLE task_lease (
  name text NOT NULL,
  owner text NOT NULL,
  until timestamptz NOT NULL,
  CONSTRAINT task_lease_pkey PRIMARY KEY (name)
);
INSERT INTO task_lease (name, owner, until)
  SELECT name, '', '-infinity' FROM unnest('{ledger_audit,ledger_closing,idempotency_sweep,money_sweep}'::text[]) name;
