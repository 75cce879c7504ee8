-- The last entry of the ledger that belongs to an archived day, or 0. All entries after it are in the database; some before it are
-- not, also of later days, because a job ends up to 7 days after it began.
CREATE OR REPLACE FUNCTION ledger_last_archived_entry() RETURNS bigint LANGUAGE sql STABLE
AS $$
SELECT COALESCE(max(last_entry_id), 0) FROM ledger_archive WHERE exported_at IS NOT NULL
$$;
