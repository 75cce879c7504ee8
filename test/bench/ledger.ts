import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Gateway } from '#bench/gateway';
import { PRICE_MICRO } from '#bench/wire';

export interface LedgerResult {
  /** Exit code 0 of `ledger verify`. */
  readonly verified: boolean;
  /** Output of `ledger verify --json`. */
  readonly report: unknown;
  /** Complete replies counted by the load generator. */
  readonly answered: number;
  readonly usageRecords: number;
  readonly expectedMicro: number;
  /** By the usage records, and by the ledger: both must equal the expected charge. */
  readonly recordedMicro: number;
  readonly chargedMicro: number;
  readonly heldReservations: number;
  readonly clean: boolean;
}

const SETTLE_TIMEOUT_MS = 10_000;

/** After the load: the ledger balances, and every reply was charged once, at its price. */
export async function checkLedger(gateway: Gateway, databaseUrl: string, answered: number): Promise<LedgerResult> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const sums = await settledSums(client);
    const verification = await gateway.command('ledger', 'verify', '--json');
    const expectedMicro = answered * PRICE_MICRO;
    const verified = verification.exitCode === 0;
    return {
      verified,
      report: verification.json ?? verification.standardError,
      answered,
      expectedMicro,
      ...sums,
      clean:
        verified &&
        sums.heldReservations === 0 &&
        sums.usageRecords === answered &&
        sums.recordedMicro === expectedMicro &&
        sums.chargedMicro === expectedMicro,
    };
  } finally {
    await client.end();
  }
}

type Sums = Pick<LedgerResult, 'heldReservations' | 'usageRecords' | 'recordedMicro' | 'chargedMicro'>;

/** Settlement follows the reply: waits until no hold remains, or until a timeout. */
async function settledSums(client: Client): Promise<Sums> {
  const deadlineMs = performance.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    const sums = await readSums(client);
    if (sums.heldReservations === 0 || performance.now() > deadlineMs) return sums;
    await delay(100);
  }
}

/** The database belongs to the bench, so every row counts. */
async function readSums(client: Client): Promise<Sums> {
  const { rows } = await client.query<Record<string, string>>(`
    SELECT (SELECT count(*) FROM reservation WHERE state = 'held') AS held,
           (SELECT count(*) FROM usage_record) AS records,
           (SELECT coalesce(sum(charged_micro), 0) FROM usage_record) AS recorded,
           (SELECT coalesce(sum(amount_micro), 0) FROM ledger_entry WHERE kind = 'charge') AS charged`);
  const [row] = rows;
  return {
    heldReservations: Number(row?.held),
    usageRecords: Number(row?.records),
    recordedMicro: Number(row?.recorded),
    chargedMicro: Number(row?.charged),
  };
}
