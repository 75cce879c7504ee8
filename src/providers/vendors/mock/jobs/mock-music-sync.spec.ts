import { buffer } from 'node:stream/consumers';
import { musicSpec } from '../../../../../test/conformance/job-requests';
import { providerCall, providerErrorOf } from '../../../../../test/conformance/provider-call';
import { MockMediaStage, readMockMediaLog } from '../../../../../test/harness/mock-media';
import type { ProviderCall } from '../../../contract/provider-call';

const call = providerCall();

let stage: MockMediaStage;
beforeEach(async () => {
  stage = await MockMediaStage.create();
});
afterEach(() => stage.remove());

describe('MockMusicSync', () => {
  const make = (directive: string, made: Partial<ProviderCall> = {}) => {
    return stage.syncMusic.make(musicSpec({ prompt: `[[mock: ${directive}]]` }), providerCall(made));
  };

  it('returns the file, and logs the request', async () => {
    const { outputs, usage } = await make('run=0 usage_seconds=3', { requestId: 'job-1' });
    const [output] = outputs;
    expect([outputs.length, output?.type, output?.url, usage?.seconds]).toEqual([1, 'audio', null, 3]);
    const stream = await stage.syncMusic.open(output ?? { type: 'audio', url: null }, call);
    expect(await buffer(stream)).toEqual(output?.bytes);
    expect((await readMockMediaLog(stage.directory)).map(({ event, token }) => [event, token])).toEqual([
      ['submitted', 'job-1'],
    ]);
  });

  it.each([
    ['status=503', []],
    ['accept status=503', ['submitted']],
  ])('logs the request, or not, with %s', async (directive, events) => {
    expect((await providerErrorOf(make(directive))).code).toBe('provider_unavailable');
    expect(await stage.eventNames()).toEqual(events);
  });

  it.each([
    ['run=0 fail=error', 'provider_error'],
    ['run=0 fail=timeout', 'provider_timeout'],
    ['run=0 fail=content', 'validation_failed'],
    ['run=0 reset_after=0', 'provider_unavailable'],
    ['run=1s', 'provider_timeout'],
  ])('fails with %s', async (directive, code) => {
    const deadlines = { ...call.deadlines, firstTokenMs: directive === 'run=1s' ? 50 : 600_000 };
    expect((await providerErrorOf(make(directive, { deadlines }))).code).toBe(code);
  });
});
