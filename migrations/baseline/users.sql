-- Users of the dashboard: accounts, sessions, e-mail tokens, memberships, invitations; and the audit log. Secrets are never
-- stored: passwords are Argon2id hashes, tokens SHA-256 digests.

-- `email_key` is the same for different spellings of an address: normalized, in lower case.
CREATE TABLE user_account (
  id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  name text NOT NULL,
  password_hash text NOT NULL,
  status text NOT NULL DEFAULT 'active',
  is_operator boolean NOT NULL DEFAULT false,
  email_verified_at timestamptz,
  signup_organization_name text,
  last_login_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT user_account_pkey PRIMARY KEY (id),
  CONSTRAINT user_account_status_check CHECK (status IN ('active', 'disabled')),
  CONSTRAINT user_account_name_check CHECK (char_length(name) BETWEEN 1 AND 200)
);
CREATE UNIQUE INDEX user_account_email_index ON user_account (email_key);

CREATE TABLE user_session (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  digest bytea NOT NULL,
  address text,
  user_agent text,
  created_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT user_session_pkey PRIMARY KEY (id),
  CONSTRAINT user_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_account (id) ON DELETE CASCADE,
  CONSTRAINT user_session_digest_check CHECK (octet_length(digest) = 32)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX user_session_digest_index ON user_session (digest);
CREATE INDEX user_session_user_index ON user_session (user_id);
CREATE INDEX user_session_expiry_index ON user_session (expires_at);

-- Short-lived secrets of the playground's keys.
CREATE TABLE playground_secret (
  digest bytea NOT NULL,
  api_key_id uuid NOT NULL,
  session_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT playground_secret_pkey PRIMARY KEY (digest),
  CONSTRAINT playground_secret_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_key (id),
  CONSTRAINT playground_secret_session_id_fkey FOREIGN KEY (session_id) REFERENCES user_session (id) ON DELETE CASCADE,
  CONSTRAINT playground_secret_digest_check CHECK (octet_length(digest) = 32)
);
CREATE INDEX playground_secret_api_key_index ON playground_secret (api_key_id, created_at);
CREATE INDEX playground_secret_session_index ON playground_secret (session_id);

CREATE TABLE user_token (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  purpose text NOT NULL,
  digest bytea NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT user_token_pkey PRIMARY KEY (id),
  CONSTRAINT user_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_account (id) ON DELETE CASCADE,
  CONSTRAINT user_token_purpose_check CHECK (purpose IN ('verify_email', 'reset_password')),
  CONSTRAINT user_token_digest_check CHECK (octet_length(digest) = 32)
);
CREATE UNIQUE INDEX user_token_digest_index ON user_token (digest);
CREATE INDEX user_token_user_index ON user_token (user_id, purpose);
CREATE INDEX user_token_expiry_index ON user_token (expires_at);

CREATE TABLE organization_member (
  organization_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT organization_member_pkey PRIMARY KEY (organization_id, user_id),
  CONSTRAINT organization_member_organization_id_fkey FOREIGN KEY (organization_id)
    REFERENCES organization (id) ON DELETE CASCADE,
  CONSTRAINT organization_member_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_account (id) ON DELETE CASCADE,
  CONSTRAINT organization_member_role_check CHECK (role IN ('owner', 'admin', 'developer', 'viewer'))
);
CREATE INDEX organization_member_user_index ON organization_member (user_id);

CREATE TABLE organization_invitation (
  id uuid NOT NULL,
  organization_id uuid NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  role text NOT NULL,
  digest bytea NOT NULL,
  invited_by uuid,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT organization_invitation_pkey PRIMARY KEY (id),
  CONSTRAINT organization_invitation_organization_id_fkey FOREIGN KEY (organization_id)
    REFERENCES organization (id) ON DELETE CASCADE,
  CONSTRAINT organization_invitation_invited_by_fkey FOREIGN KEY (invited_by)
    REFERENCES user_account (id) ON DELETE SET NULL,
  CONSTRAINT organization_invitation_role_check CHECK (role IN ('owner', 'admin', 'developer', 'viewer')),
  CONSTRAINT organization_invitation_digest_check CHECK (octet_length(digest) = 32)
);
CREATE UNIQUE INDEX organization_invitation_email_index ON organization_invitation (organization_id, email_key);
CREATE UNIQUE INDEX organization_invitation_digest_index ON organization_invitation (digest);

-- No foreign keys: an entry outlives its subject. One index per filter, each in the order of the list.
CREATE TABLE audit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY,
  organization_id uuid,
  actor_kind text NOT NULL,
  actor_user_id uuid,
  address text,
  request_id text,
  action text NOT NULL,
  target_type text NOT NULL,
  target_id text NOT NULL,
  before jsonb,
  after jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT audit_entry_pkey PRIMARY KEY (id),
  CONSTRAINT audit_entry_actor_check CHECK (
    actor_kind IN ('user', 'operator', 'command', 'system')
    AND (actor_user_id IS NOT NULL) = (actor_kind IN ('user', 'operator'))
  )
);
CREATE INDEX audit_entry_request_index ON audit_entry (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX audit_entry_time_index ON audit_entry (organization_id, created_at, id);
CREATE INDEX audit_entry_action_index ON audit_entry (organization_id, action, created_at, id);
CREATE INDEX audit_entry_actor_index ON audit_entry (organization_id, actor_user_id, created_at, id)
  WHERE actor_user_id IS NOT NULL;
