-- Every reservation, held or ended. The money functions, the sweep and the audit read the tables.
CREATE OR REPLACE VIEW reservation AS
SELECT id, organization_id, key_id, 'held'::text AS state, amount_micro, NULL::bigint AS charged_micro,
       0::bigint AS uncollected_micro, (created_at AT TIME ZONE 'UTC')::date AS day,
       date_trunc('month', created_at AT TIME ZONE 'UTC')::date AS month, owner, expires_at, created_at,
       NULL::timestamptz AS ended_at, keyed
  FROM hold
UNION ALL
SELECT id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro,
       (created_at AT TIME ZONE 'UTC')::date, date_trunc('month', created_at AT TIME ZONE 'UTC')::date,
       CASE WHEN is_job THEN 'media_job' END, NULL::timestamptz, created_at, ended_at, NULL::boolean
  FROM ended_reservation;
