-- The first UTC day whose requests are in the database: all earlier ones are archived. NULL: no day is.
CREATE OR REPLACE FUNCTION ledger_kept_from() RETURNS date LANGUAGE sql STABLE
AS $$
SELECT max(day) + 1 FROM ledger_archive WHERE exported_at IS NOT NULL
$$;
