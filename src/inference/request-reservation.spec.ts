import { Logger } from '@nestjs/common';
import { Metrics } from '../core/observability/metrics/catalogue';
import { RequestLog, RequestMetrics } from './request-metrics';
import { compilePrice } from '../billing/pricing/price';
import type { FinishCommand } from '../billing/ledger/money.types';
import type { ReservationService } from '../billing/ledger/reservation.service';
import { InFlight } from '../core/concurrency/in-flight';
import { NO_USAGE } from '../providers/contract/usage';
import type { Candidate, InferenceInput } from './inference.types';
import { RequestReservation } from './request-reservation';
import type { TokenRatios } from './token-estimate';

const SERVICES = {
  reservations: {} as ReservationService,
  ratios: {} as TokenRatios,
  metrics: new RequestMetrics(new Metrics(), new RequestLog({ logRequests: 'none' })),
  clock: { now: () => 0, monotonic: () => 1 },
  open: new InFlight(),
};

/** Settles a request of this kind and returns the command sent to billing. */
async function settle(kind: Pick<InferenceInput, 'streamed' | 'allOrNothing'>): Promise<FinishCommand | undefined> {
  const commands: FinishCommand[] = [];
  const reservations = {
    finish: async (command: FinishCommand) => {
      commands.push(command);
      return { applied: true, chargedMicro: command.actualMicro };
    },
  } as unknown as ReservationService;
  const input = {
    ...kind,
    operation: 'createSpeech',
    model: { id: 'local/voice' },
    principal: { organizationId: 'o', keyId: 'k' },
    context: { id: 'r', startedAtMs: 0 },
  } as unknown as InferenceInput;
  const lease = { release: () => undefined };
  const open = new InFlight();
  open.begin();
  const services = { ...SERVICES, reservations, open };
  const reservation = new RequestReservation({ input, candidates: [], holdMicro: 10n, lease, steps: null }, services);
  await reservation.settle({ usage: NO_USAGE, usageEstimated: false, costMicro: 7n });
  return commands[0];
}

describe('a charge that the database rejects', () => {
  it.each([
    ['is dropped for a non-streamed response, which was not sent', { streamed: false }, true],
    ['is retried for a stream, which was delivered', { streamed: true }, false],
    ['is dropped for an all-or-nothing stream, whose end was not sent', { streamed: true, allOrNothing: true }, true],
  ])('%s', async (_title, kind, dropped) => {
    expect(await settle(kind)).toMatchObject({ outcome: 'settled', actualMicro: 7n, releaseOnTimeout: dropped });
  });
});

describe("a vendor's bill", () => {
  const price = compilePrice({ image: { rows: [{ per_image_micro: 100 }] }, unit: { per_unit_micro: 1_000 } });

  /** The cost of one image, with the hold of the list price. */
  function costOf(units: number | undefined, usageEstimated = false): bigint {
    const candidate = { price, deployment: { id: 'd' }, model: { contextLength: null, maxOutputTokens: null } };
    const input = { context: { requestId: 'r' }, model: candidate.model } as unknown as InferenceInput;
    const lease = { release: () => undefined };
    const reservation = new RequestReservation(
      { input, candidates: [], holdMicro: 100n, lease, steps: null },
      SERVICES,
    );
    reservation.beginAttempt(candidate as unknown as Candidate);
    const usage = { ...NO_USAGE, images: 1, ...(units !== undefined && { units }) };
    return reservation.bill(usageEstimated ? null : usage, 1, { estimateUsage: () => usage }).costMicro;
  }

  it('is charged, never above the hold, and warned about when it differs from the list price by over 5 %', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const events = () => warn.mock.calls.map(([facts]) => (facts as { event: string }).event);
    expect([costOf(0.0955), costOf(undefined), costOf(7, true)]).toEqual([96n, 100n, 100n]);
    expect(events()).toEqual([]);
    expect([costOf(0.05), costOf(0.2)]).toEqual([50n, 100n]);
    expect(events()).toEqual(['vendor_bill_differs', 'vendor_bill_differs']);
    warn.mockRestore();
  });
});
