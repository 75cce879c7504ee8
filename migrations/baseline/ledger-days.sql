-- Days of the ledger: closed ones, whose sums take the place of their requests in the periodic audit, and archived ones.

-- `closed_at` is NULL while `violations` keep the day from being closed. `verified_at`: the last time that the audit has
-- compared the closed day with its requests; `violations` are what it found.
CREATE TABLE ledger_day (
  day date NOT NULL,
  closed_at timestamptz,
  verified_at timestamptz NOT NULL DEFAULT '-infinity',
  violations jsonb NOT NULL DEFAULT '[]',
  CONSTRAINT ledger_day_pkey PRIMARY KEY (day)
);

CREATE TABLE ledger_closing (
  day date NOT NULL,
  organization_id uuid NOT NULL,
  reservation_count bigint NOT NULL,
  charge_count bigint NOT NULL,
  charged_micro bigint NOT NULL,
  uncollected_micro bigint NOT NULL,
  checksum numeric NOT NULL,
  CONSTRAINT ledger_closing_pkey PRIMARY KEY (day, organization_id)
);

-- What the closed day adds to the windows. A request that arrives at midnight may count in the windows of the next day.
CREATE TABLE ledger_closing_window (
  closed_day date NOT NULL,
  organization_id uuid NOT NULL,
  key_id uuid NOT NULL,
  day date NOT NULL,
  month date NOT NULL,
  spent_micro bigint NOT NULL,
  CONSTRAINT ledger_closing_window_pkey PRIMARY KEY (closed_day, organization_id, key_id, day, month)
);
CREATE INDEX ledger_closing_window_day_index ON ledger_closing_window (day);

-- Closed days that have left the database: where they are, and what was verified there. Until `exported_at` a row is only the
-- claim of the process that exports the day. `removed_at`: its rows are gone. `content_digest`: SHA-256 of the lines before
-- compression. `last_entry_id`: the last entry of the ledger that belongs to the day, or 0.
CREATE TABLE ledger_archive (
  day date NOT NULL,
  claimed_by text NOT NULL,
  claimed_until timestamptz NOT NULL,
  object_key text,
  size_bytes bigint,
  content_digest bytea,
  reservation_count bigint,
  charge_count bigint,
  charged_micro bigint,
  uncollected_micro bigint,
  checksum numeric,
  last_entry_id bigint,
  exported_at timestamptz,
  digest bytea,
  removed_at timestamptz,
  CONSTRAINT ledger_archive_pkey PRIMARY KEY (day),
  CONSTRAINT ledger_archive_exported_check CHECK (
    num_nulls(object_key, size_bytes, content_digest, reservation_count, charge_count, charged_micro,
              uncollected_micro, checksum, last_entry_id, exported_at, digest) IN (0, 11)
    AND (removed_at IS NULL OR exported_at IS NOT NULL)
  )
);
