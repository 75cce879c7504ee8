import { Logger } from '@nestjs/common';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../providers/contract/provider-error';
import { callTogether } from './parallel-calls';

Logger.overrideLogger(false);

const CALL = { requestId: 'req_1', publicModel: 'v/model' } as ProviderCall;
const failure = (code: ProviderErrorCode, options: Partial<ProviderErrorOptions> = {}): ProviderError =>
  new ProviderError(code, '', { phase: 'headers', fallback: true, ...options });
const together = (...outcomes: readonly (number | Error)[]): Promise<number[]> =>
  callTogether(
    CALL,
    outcomes.map((outcome) => async () => {
      if (outcome instanceof Error) throw outcome;
      return outcome;
    }),
  );

const unreachable = failure('provider_unavailable', { phase: 'connect' });
const limited = failure('provider_rate_limited', { upstream: { status: 429 } });
const cutOff = failure('provider_unavailable');
const bug = new RangeError('a bug');
const refused = failure('validation_failed', { fallback: false, upstream: { status: 400 } });

describe('callTogether', () => {
  it('starts all calls at once and returns the results in order', async () => {
    const begun: number[] = [];
    let openGate = (): void => undefined;
    const gate = new Promise<void>((resolve) => (openGate = resolve));
    const answers = callTogether(
      CALL,
      [1, 2, 3].map((number) => async () => {
        begun.push(number);
        await gate;
        return number;
      }),
    );
    expect(begun).toEqual([1, 2, 3]);
    openGate();
    expect(await answers).toEqual([1, 2, 3]);
  });

  it('succeeds when one call does', async () => {
    expect(await together(limited, 2, new Error('a bug'))).toEqual([2]);
  });

  it.each<[string, Error, readonly Error[]]>([
    ['the shared refusal', refused, [refused, refused]],
    ['the most useful failure', limited, [unreachable, limited, refused]],
    ['the failure that may have taken effect, which forbids failover', cutOff, [unreachable, cutOff, limited]],
    ['an internal error', bug, [limited, bug]],
  ])('fails when all calls fail, with %s', async (_what, expected, failures) => {
    await expect(together(...failures)).rejects.toBe(expected);
  });

  it('ends after the last call', async () => {
    let fail = (_error: Error): void => undefined;
    const last = new Promise<number>((_resolve, reject) => (fail = reject));
    let ended = false;
    const answers = callTogether(CALL, [() => Promise.reject(limited), () => last]).finally(() => (ended = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    fail(limited);
    await expect(answers).rejects.toBe(limited);
  });
});
