import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Metrics } from '../core/observability/metrics/catalogue';
import { RequestLog, RequestMetrics } from './request-metrics';
import { KeyClaimedError } from '../billing/ledger/money.types';
import { GatewayError } from '../core/errors/gateway-error';
import { ResponseConnection } from '../core/http/request';
import type { ResponseStore } from '../auth/idempotency/response-store';
import type { IdempotencyService, StoredResponse } from '../auth/idempotency/idempotency.service';
import type { InferenceInput } from './inference.types';
import { DisconnectTracker, IdempotentExecution } from './idempotent-execution';
import type { RequestAdmission, RequestReservation } from './request-reservation';

const RESERVATION = { reservation: true } as unknown as RequestReservation;
const STORED: StoredResponse = { status: 200, headers: {}, body: Buffer.from('stored') };

/** Records the steps in order; each look-up and each admission takes its next scripted outcome. */
function setUp(
  key: string | null,
  lookUps: readonly (StoredResponse | null)[],
  admissions: readonly (RequestReservation | Error)[],
) {
  const steps: string[] = [];
  const [looking, admitting] = [lookUps.values(), admissions.values()];
  const idempotency = {
    lookUp: async (_organizationId: string, _claim: unknown, _request: unknown, claimLost = false) => {
      steps.push(claimLost ? 'look up after a loss' : 'look up');
      return looking.next().value ?? null;
    },
    inProgress: () => new GatewayError('idempotency_conflict', 'in progress', { retryAfterSeconds: 2 }),
  } as unknown as IdempotencyService;
  const admission = {
    admit: async (_input: InferenceInput, claim: { key: string } | null) => {
      steps.push(`admit ${claim?.key}`);
      const next = admitting.next().value;
      if (next instanceof Error) throw next;
      return next;
    },
  } as unknown as RequestAdmission;
  const input = {
    operation: 'createChatCompletion',
    model: { id: 'v/m' },
    principal: { organizationId: 'o' },
    context: { idempotencyKey: key },
    body: { a: 1 },
  } as unknown as InferenceInput;
  const metrics = new RequestMetrics(new Metrics(), new RequestLog({ logRequests: 'none' }));
  const execution = new IdempotentExecution(admission, idempotency, {} as ResponseStore, metrics);
  return { steps, outcome: execution.admitOrReplay(input) };
}

describe('IdempotentExecution.admitOrReplay', () => {
  it('looks nothing up without a key', async () => {
    const { steps, outcome } = setUp(null, [], [RESERVATION]);
    expect(await outcome).toBe(RESERVATION);
    expect(steps).toEqual(['admit undefined']);
  });

  it('replays the stored response of a key without admitting the request', async () => {
    const { steps, outcome } = setUp('k', [STORED], []);
    expect(await outcome).toBe(STORED);
    expect(steps).toEqual(['look up']);
  });

  it('replays the response of a concurrent duplicate that claimed the key first', async () => {
    const { steps, outcome } = setUp('k', [null, STORED], [new KeyClaimedError()]);
    expect(await outcome).toBe(STORED);
    expect(steps).toEqual(['look up', 'admit k', 'look up after a loss']);
  });

  it('claims the key after a concurrent duplicate failed', async () => {
    const { outcome } = setUp('k', [null, null], [new KeyClaimedError(), RESERVATION]);
    expect(await outcome).toBe(RESERVATION);
  });

  it('returns idempotency_conflict with Retry-After after losing the key three times', async () => {
    const lost = [new KeyClaimedError(), new KeyClaimedError(), new KeyClaimedError()];
    const { steps, outcome } = setUp('k', [null, null, null], lost);
    await expect(outcome).rejects.toMatchObject({ code: 'idempotency_conflict', retryAfterSeconds: 2 });
    expect(steps.filter((step) => step === 'admit k')).toHaveLength(3);
  });

  it('passes on other refusals', async () => {
    const { outcome } = setUp('k', [null], [new GatewayError('insufficient_credits', 'no')]);
    await expect(outcome).rejects.toMatchObject({ code: 'insufficient_credits' });
  });
});

describe('DisconnectTracker', () => {
  class Response extends EventEmitter {
    destroyed = false;
    writableFinished = false;

    close(): void {
      this.destroyed = true;
      this.emit('close');
    }
  }

  function track(mayRetry: boolean, response = new Response(), clients = new DisconnectTracker()) {
    const connection = new ResponseConnection(response as unknown as ServerResponse);
    return { response, clients, client: clients.track(connection, mayRetry) };
  }

  beforeEach(() => jest.useFakeTimers());
  afterEach(() => {
    const timers = jest.getTimerCount();
    jest.useRealTimers();
    if (timers > 0) throw new Error(`${timers} timers are still active`);
  });

  describe('a client without an idempotency key', () => {
    it('aborts the work when it disconnects', () => {
      const { response, client } = track(false);
      expect([client.disconnected, client.signal.aborted]).toEqual([false, false]);
      response.close();
      expect([client.disconnected, client.signal.aborted]).toEqual([true, true]);
    });

    it('aborts the work when it has disconnected before the tracking starts', () => {
      const response = new Response();
      response.destroyed = true;
      expect(track(false, response).client.signal.aborted).toBe(true);
    });

    it('is not reported as disconnected after a complete response', () => {
      const { response, client } = track(false);
      response.writableFinished = true;
      response.close();
      expect([client.disconnected, client.signal.aborted]).toEqual([false, false]);
    });
  });

  describe('a client with an idempotency key', () => {
    it('aborts the work two minutes after the disconnect', () => {
      const { response, client } = track(true);
      response.close();
      expect([client.disconnected, client.signal.aborted]).toEqual([true, false]);
      jest.advanceTimersByTime(119_999);
      expect(client.signal.aborted).toBe(false);
      jest.advanceTimersByTime(1);
      expect(client.signal.aborted).toBe(true);
    });

    it('aborts nothing once the work is done', () => {
      const { response, client } = track(true);
      response.close();
      client.end();
      jest.advanceTimersByTime(120_000);
      expect(client.signal.aborted).toBe(false);
    });

    it('starts no timer when it disconnects after the work is done', () => {
      const { response, client } = track(true);
      client.end();
      response.close();
      expect(jest.getTimerCount()).toBe(0);
    });

    it('gets no grace period when its response cannot be stored, whether it disconnects before or after', () => {
      const [before, after] = [track(true), track(true)];
      before.response.close();
      before.client.disableRetryGrace();
      after.client.disableRetryGrace();
      expect(after.client.signal.aborted).toBe(false);
      after.response.close();
      expect([before.client.signal.aborted, after.client.signal.aborted]).toEqual([true, true]);
    });

    it('gets no grace period during shutdown', () => {
      const clients = new DisconnectTracker();
      const [gone, staying] = [track(true, undefined, clients), track(true, undefined, clients)];
      gone.response.close();
      clients.beforeApplicationShutdown();
      expect([gone.client.signal.aborted, staying.client.signal.aborted]).toEqual([true, false]);
      staying.response.close();
      const late = track(true, undefined, clients);
      late.response.close();
      expect([staying.client.signal.aborted, late.client.signal.aborted]).toEqual([true, true]);
    });
  });
});
