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

describe('calls that are one attempt', () => {
  it('begin at once, and give what they gave in their order', async () => {
    const begun: number[] = [];
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const answers = callTogether(
      CALL,
      [1, 2, 3].map((number) => async () => {
        begun.push(number);
        await gate;
        return number;
      }),
    );
    expect(begun).toEqual([1, 2, 3]);
    go();
    expect(await answers).toEqual([1, 2, 3]);
  });

  it('succeed when one does, whatever became of the others', async () => {
    expect(await together(limited, 2, new Error('a bug'))).toEqual([2]);
  });

  it.each<[string, Error, readonly Error[]]>([
    ['the one refusal', refused, [refused, refused]],
    ['what tells the client most', limited, [unreachable, limited, refused]],
    ['what may have taken effect, so that nobody else is asked', cutOff, [unreachable, cutOff, limited]],
    ['a fault of our own', bug, [limited, bug]],
  ])('fail when all do, with %s', async (_what, expected, failures) => {
    await expect(together(...failures)).rejects.toBe(expected);
  });

  it('end when the last one does', async () => {
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
