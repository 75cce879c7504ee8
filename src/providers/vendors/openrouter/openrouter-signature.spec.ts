import { createHmac } from 'node:crypto';
import type { Clock } from '../../../core/time/clock';
import type { ReportCall, SignedReport } from '../../contract/media-job';
import type { Provider } from '../../contract/provider';
import { OpenRouterProvider } from './openrouter.module';
import { isSignedByOpenRouter } from './openrouter-signature';

const SECRET = 'secret-of-the-workspace';
const BODY = Buffer.from('{"type":"video.generation.completed","data":{"id":"job-1","status":"completed"}}');
const NOW_MS = Date.parse('2026-11-26T12:00:00Z');
const clock: Clock = { now: () => NOW_MS, monotonic: () => NOW_MS };

/** A report as OpenRouter sends it. */
function signed({ secret = SECRET, ageSeconds = 0, nowMs = NOW_MS } = {}): SignedReport {
  const timestamp = Math.floor(nowMs / 1_000) - ageSeconds;
  const signature = createHmac('sha256', secret).update(`${timestamp},${BODY.toString()}`).digest('hex');
  return { headers: { 'x-openrouter-signature': `t=${timestamp},v1=${signature}` }, body: BODY };
}

describe('the signature of a report of OpenRouter', () => {
  it('is valid for what the workspace signed within five minutes', () => {
    expect([0, 299, -299].map((ageSeconds) => isSignedByOpenRouter(signed({ ageSeconds }), SECRET, clock))).toEqual([
      true,
      true,
      true,
    ]);
  });

  const [header = ''] = Object.values(signed().headers) as string[];
  it.each<[string, SignedReport]>([
    ['another body', { ...signed(), body: Buffer.from('{}') }],
    ['another secret', signed({ secret: 'another' })],
    ['an old time', signed({ ageSeconds: 301 })],
    ['a time in the future', signed({ ageSeconds: -301 })],
    [
      'another time than the signed one',
      { headers: { 'x-openrouter-signature': header.replace(/t=\d+/, `t=${NOW_MS / 1_000 + 1}`) }, body: BODY },
    ],
    ['a signature that is cut off', { headers: { 'x-openrouter-signature': header.slice(0, -2) }, body: BODY }],
    ['no time', { headers: { 'x-openrouter-signature': header.replace(/^.*,/, '') }, body: BODY }],
    ['two headers', { headers: { 'x-openrouter-signature': [header, header] }, body: BODY }],
    ['no header', { headers: {}, body: BODY }],
  ])('is invalid with %s', (_what, report) => {
    expect(isSignedByOpenRouter(report, SECRET, clock)).toBe(false);
  });

  it('is required once the operator has set the secret', async () => {
    const providers = [{}, { OPENROUTER_WEBHOOK_SECRET: SECRET }].map(
      (settings) => new OpenRouterProvider().create({ OPENROUTER_API_KEY: 'key', ...settings }) as Provider,
    );
    const [hint, required] = providers.map(({ video }) => video?.verifyReport);
    expect(hint).toBeUndefined();
    const verdicts = [signed({ nowMs: Date.now() }), signed({ secret: 'another', nowMs: Date.now() })];
    expect(await Promise.all(verdicts.map((report) => required?.(report, {} as ReportCall)))).toEqual([true, false]);
    await Promise.all(providers.map((provider) => provider.close()));
  });
});
