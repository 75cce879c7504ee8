import type { TestGateway } from './gateway';

/** Runs `work` while the ledger of `gateway` counts the UTC day `day`, and all days before it, as archived. */
export async function withArchivedDay(gateway: TestGateway, day: string, work: () => Promise<void>): Promise<void> {
  await gateway.rows(
    `INSERT INTO ledger_archive (day, claimed_by, claimed_until, object_key, size_bytes, content_digest, reservation_count,
                                 charge_count, charged_micro, uncollected_micro, checksum, last_entry_id,
                                 exported_at, digest)
     VALUES ($1, 'a process', now(), 'k', 1, '', 1, 1, 1, 0, 1, 0, now(), '')`,
    [day],
  );
  try {
    await work();
  } finally {
    await gateway.rows(
      `ALTER TABLE ledger_archive DISABLE TRIGGER USER; DELETE FROM ledger_archive;
       ALTER TABLE ledger_archive ENABLE TRIGGER USER`,
    );
  }
}
