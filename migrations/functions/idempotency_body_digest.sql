-- Digest of a stored body, from digests of its two parts, so that a body of tens of megabytes is not copied.
CREATE OR REPLACE FUNCTION idempotency_body_digest(p_id uuid, p_organization uuid, p_head bytea, p_tail bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE
AS $$
SELECT substring(sha256(uuid_send(p_id) || uuid_send(p_organization) || sha256(p_head)
                        || COALESCE(sha256(p_tail), '')) FOR 8)
$$;
