/** The records of a client's requests in the gateway. */
import type { IncomingMessage } from 'node:http';
import type { TestCustomer, TestGateway } from '../harness/gateway';

export interface TracedRecord {
  readonly status: number;
  readonly error_code: string | null;
  readonly streamed: boolean;
  readonly usage_estimated: boolean;
  readonly charged_micro: string;
  readonly output_text: string;
}

/** The receipts of a customer, oldest first: request ids rise with time. */
export function recordsOf(gateway: TestGateway, customer: TestCustomer): Promise<TracedRecord[]> {
  return gateway.rows('SELECT * FROM usage_record WHERE organization_id = $1 ORDER BY id', [customer.organizationId]);
}

/** Waits for the one receipt of a request whose client has disconnected. */
export function soleRecordOf(gateway: TestGateway, customer: TestCustomer): Promise<TracedRecord> {
  return untilSome(() => recordsOf(gateway, customer));
}

/** Whether a customer has a receipt by now, or soon. */
export async function isRecorded(gateway: TestGateway, customer: TestCustomer): Promise<boolean> {
  for (const untilMs = performance.now() + 5_000; performance.now() < untilMs;) {
    if ((await recordsOf(gateway, customer)).length > 0) return true;
  }
  return false;
}

/** Polls the database until there is a row, and returns the first. */
async function untilSome<Row>(query: () => Promise<Row[]>): Promise<Row> {
  for (;;) {
    const [row] = await query();
    if (row !== undefined) return row;
  }
}

/** The current holds of a customer. */
export async function heldMicro(gateway: TestGateway, customer: TestCustomer): Promise<number> {
  const [row] = await gateway.rows<{ reserved_micro: string }>(
    'SELECT reserved_micro FROM organization_account WHERE organization_id = $1',
    [customer.organizationId],
  );
  return Number(row?.reserved_micro);
}

export interface Attempt {
  readonly atMs: number;
  /** As counted by the client. */
  readonly retryCount: number;
}

/** Records the number and times of client requests; call it once per gateway. Returns the requests of one customer. */
export function followAttempts(gateway: TestGateway): (customer: Pick<TestCustomer, 'key'>) => Attempt[] {
  const attempts = new Map<string | undefined, Attempt[]>();
  gateway.app.getHttpServer().on('request', ({ headers }: IncomingMessage) => {
    const attempt = { atMs: performance.now(), retryCount: Number(headers['x-stainless-retry-count']) };
    attempts.set(headers.authorization, [...(attempts.get(headers.authorization) ?? []), attempt]);
  });
  return ({ key }) => attempts.get(`Bearer ${key}`) ?? [];
}
