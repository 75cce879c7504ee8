-- Purchases of credit, the events and refunds of payment providers, and the billing settings of an organization. Purchases have
-- no foreign key to the account: like every other movement they are booked by `money_post`.

-- Purchases of one organization are serialized by locking this row, and never the account's, which every request needs.
CREATE TABLE billing_settings (
  organization_id uuid NOT NULL,
  purchase_limit_day_micro bigint,
  purchase_limit_month_micro bigint,
  low_balance_threshold_micro bigint,
  low_balance_claimed_at timestamptz,
  low_balance_notified_at timestamptz,
  CONSTRAINT billing_settings_pkey PRIMARY KEY (organization_id),
  CONSTRAINT billing_settings_organization_id_fkey FOREIGN KEY (organization_id)
    REFERENCES organization (id) ON DELETE CASCADE,
  CONSTRAINT billing_settings_limits_check CHECK (purchase_limit_day_micro >= 0 AND purchase_limit_month_micro >= 0),
  CONSTRAINT billing_settings_threshold_check CHECK (low_balance_threshold_micro > 0)
);
CREATE INDEX billing_settings_threshold_index ON billing_settings (organization_id)
  WHERE low_balance_threshold_micro IS NOT NULL;

-- `owed_micro`: what was paid back and is not covered by the balance. `reviewed_at`: when a person has reviewed it; NULL again
-- when the payment changes.
CREATE TABLE purchase (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  user_id uuid,
  provider text NOT NULL,
  state text NOT NULL DEFAULT 'pending',
  amount_micro bigint NOT NULL,
  idempotency_key text,
  checkout_reference text,
  checkout_url text,
  payment_reference text,
  failure text,
  refunded_micro bigint NOT NULL DEFAULT 0,
  disputed_micro bigint NOT NULL DEFAULT 0,
  owed_micro bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  highest_refunded_micro bigint NOT NULL DEFAULT 0,
  reviewed_at timestamptz,
  CONSTRAINT purchase_pkey PRIMARY KEY (id),
  CONSTRAINT purchase_provider_check CHECK (provider IN ('stripe', 'test')),
  CONSTRAINT purchase_amount_check CHECK (amount_micro > 0 AND amount_micro % 10000 = 0),
  CONSTRAINT purchase_state_check CHECK (
    (state IN ('pending', 'processing') AND ended_at IS NULL)
    OR (state = 'paid' AND ended_at IS NOT NULL AND payment_reference IS NOT NULL)
    OR (state IN ('failed', 'expired', 'canceled', 'mismatch') AND ended_at IS NOT NULL AND payment_reference IS NULL)
  ),
  CONSTRAINT purchase_reversal_check CHECK (refunded_micro >= 0 AND disputed_micro >= 0 AND owed_micro >= 0)
);
CREATE UNIQUE INDEX purchase_idempotency_index ON purchase (organization_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX purchase_payment_index ON purchase (provider, payment_reference)
  WHERE payment_reference IS NOT NULL;
CREATE INDEX purchase_organization_index ON purchase (organization_id, created_at, id);
CREATE INDEX purchase_pending_index ON purchase (expires_at) WHERE state = 'pending';
CREATE INDEX purchase_time_index ON purchase (created_at, id);
-- The few purchases that a person has to review.
CREATE INDEX purchase_review_index ON purchase (created_at, id)
  WHERE reviewed_at IS NULL
    AND (state = 'mismatch' OR (state = 'paid' AND failure IS NOT NULL) OR owed_micro > 0);

CREATE TABLE payment_event (
  provider text NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  purchase_id uuid NOT NULL,
  outcome text NOT NULL,
  received_at timestamptz NOT NULL,
  CONSTRAINT payment_event_pkey PRIMARY KEY (provider, id),
  CONSTRAINT payment_event_purchase_id_fkey FOREIGN KEY (purchase_id) REFERENCES purchase (id) ON DELETE CASCADE
);
CREATE INDEX payment_event_purchase_index ON payment_event (purchase_id);

-- Each refund separately, because one that was taken back may fail later.
CREATE TABLE payment_refund (
  provider text NOT NULL,
  id text NOT NULL,
  payment_reference text NOT NULL,
  amount_micro bigint NOT NULL,
  has_failed boolean NOT NULL,
  CONSTRAINT payment_refund_pkey PRIMARY KEY (provider, id),
  CONSTRAINT payment_refund_amount_check CHECK (amount_micro >= 0)
);
CREATE INDEX payment_refund_payment_index ON payment_refund (provider, payment_reference);

-- A payment can have several disputes. One may be reported before its payment.
CREATE TABLE payment_dispute (
  provider text NOT NULL,
  id text NOT NULL,
  payment_reference text NOT NULL,
  withheld_micro bigint NOT NULL,
  reported_at timestamptz NOT NULL,
  CONSTRAINT payment_dispute_pkey PRIMARY KEY (provider, id),
  CONSTRAINT payment_dispute_amount_check CHECK (withheld_micro >= 0)
);
CREATE INDEX payment_dispute_payment_index ON payment_dispute (provider, payment_reference);
