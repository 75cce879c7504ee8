import type { FinishCommand } from '../billing/money.types';
import type { ReservationService } from '../billing/reservation.service';
import { InFlight } from '../common/in-flight';
import { NO_USAGE } from '../providers/contract/usage';
import type { InferenceInput } from './inference.types';
import { Meter } from './meter';
import type { TokenRatios } from './token-ratio.service';

/** What billing is told to do at the end of a request of this kind. */
async function settle(kind: Pick<InferenceInput, 'streamed' | 'soldWhole'>): Promise<FinishCommand | undefined> {
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
  const openMeters = new InFlight();
  openMeters.begin();
  const meter = new Meter(input, [], 10n, lease, reservations, clock, openMeters, {} as TokenRatios);
  await meter.settle({ usage: NO_USAGE, usageEstimated: false, costMicro: 7n });
  return commands[0];
}

describe('a charge that the database does not take', () => {
  it.each([
    ['is dropped for a whole answer, which was not sent', { streamed: false }, true],
    ['is made later for a stream, which was delivered', { streamed: true }, false],
    ['is dropped for a stream that is sold whole, whose end was not sent', { streamed: true, soldWhole: true }, true],
  ])('%s', async (_title, kind, dropped) => {
    expect(await settle(kind)).toMatchObject({ outcome: 'settled', actualMicro: 7n, releaseIfTurnedAway: dropped });
  });
});
