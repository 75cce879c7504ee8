import type { FinishCommand } from '../billing/ledger/money.types';
import type { ReservationService } from '../billing/ledger/reservation.service';
import { InFlight } from '../core/concurrency/in-flight';
import { NO_USAGE } from '../providers/contract/usage';
import type { InferenceInput } from './inference.types';
import { RequestReservation } from './request-reservation';
import type { TokenRatios } from './inference-input';

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
  const clock = { now: () => 0, monotonic: () => 1 };
  const openRequestReservations = new InFlight();
  openRequestReservations.begin();
  const meter = new RequestReservation(
    input,
    [],
    10n,
    lease,
    reservations,
    clock,
    openRequestReservations,
    {} as TokenRatios,
  );
  await meter.settle({ usage: NO_USAGE, usageEstimated: false, costMicro: 7n });
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
