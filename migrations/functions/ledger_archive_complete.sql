-- Records that the export of a UTC day is verified: from then on the audit reads the archive's sums, and the rows may be removed.
-- False: another process has taken over the claim. Raises `check_violation` when the sums are not those of the closing, or when
-- an earlier day has requests that are not archived: days leave in order.
--
-- The advisory lock excludes holds and reservations of earlier days that are being written (`closed_day_stays`); later ones
-- are refused.
CREATE OR REPLACE FUNCTION ledger_archive_complete(
  p_day date, p_owner text, p_object_key text, p_size_bytes bigint, p_content_digest bytea, p_reservation_count bigint,
  p_charge_count bigint, p_charged_micro bigint, p_uncollected_micro bigint, p_checksum numeric, p_last_entry_id bigint
) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '2s'
AS $$
DECLARE
  v_archive ledger_archive;
  v_kept_from date;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ledger_archive'));
  SELECT a.* INTO v_archive FROM ledger_archive a
   WHERE a.day = p_day AND a.claimed_by = p_owner AND a.exported_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF NOT EXISTS (SELECT FROM ledger_day d WHERE d.day = p_day AND d.closed_at IS NOT NULL)
     OR NOT EXISTS (SELECT FROM ledger_closing c WHERE c.day = p_day
                    HAVING (sum(c.reservation_count), sum(c.charge_count), sum(c.charged_micro), sum(c.uncollected_micro),
                            sum(c.checksum))
                           = (p_reservation_count, p_charge_count, p_charged_micro, p_uncollected_micro, p_checksum)) THEN
    RAISE EXCEPTION 'the archive of % differs from its closing', p_day USING ERRCODE = 'check_violation';
  END IF;
  v_kept_from := ledger_kept_from();
  IF v_kept_from > p_day
     OR EXISTS (SELECT FROM hold h WHERE h.id <= last_id_of(p_day))
     OR EXISTS (SELECT FROM ended_reservation r
                 WHERE r.id < first_id_of(p_day)
                   AND r.id >= COALESCE(first_id_of(v_kept_from), '00000000-0000-0000-0000-000000000000')) THEN
    RAISE EXCEPTION 'days before % are not archived', p_day USING ERRCODE = 'check_violation';
  END IF;

  v_archive.object_key := p_object_key;
  v_archive.size_bytes := p_size_bytes;
  v_archive.content_digest := p_content_digest;
  v_archive.reservation_count := p_reservation_count;
  v_archive.charge_count := p_charge_count;
  v_archive.charged_micro := p_charged_micro;
  v_archive.uncollected_micro := p_uncollected_micro;
  v_archive.checksum := p_checksum;
  v_archive.last_entry_id := p_last_entry_id;
  v_archive.exported_at := clock_timestamp();
  UPDATE ledger_archive
     SET object_key = v_archive.object_key, size_bytes = v_archive.size_bytes, content_digest = v_archive.content_digest,
         reservation_count = v_archive.reservation_count, charge_count = v_archive.charge_count,
         charged_micro = v_archive.charged_micro, uncollected_micro = v_archive.uncollected_micro,
         checksum = v_archive.checksum, last_entry_id = v_archive.last_entry_id,
         exported_at = v_archive.exported_at, digest = ledger_archive_digest(v_archive)
   WHERE day = p_day;
  RETURN true;
END
$$;
