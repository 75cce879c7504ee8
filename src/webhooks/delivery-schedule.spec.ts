import { OutboundError, type OutboundFault } from '../core/outbound/outbound-error';
import { nextStep, toOutcome } from './delivery-schedule';
import type { AttemptOutcome, NextStep } from './webhook.types';

const REJECTED: AttemptOutcome = { status: 500, error: 'rejected' };
const SCHEDULE_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

const pauseOf = (step: NextStep): number => (step.state === 'pending' ? step.retryInMs / 1_000 : Number.NaN);

describe('toOutcome', () => {
  it.each([200, 201, 202, 204, 299])('treats status %s as delivered', (status) => {
    expect(toOutcome({ status, retryAfterSeconds: null })).toEqual({ status, error: null });
  });

  it.each([300, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503, 599])('treats status %s as rejected', (status) => {
    expect(toOutcome({ status, retryAfterSeconds: null })).toEqual({ status, error: 'rejected' });
  });

  it('treats status 410 as gone', () => {
    expect(toOutcome({ status: 410, retryAfterSeconds: 60 })).toEqual({ status: 410, error: 'gone' });
  });

  it.each<[OutboundFault, string]>([
    ['blocked', 'address_blocked'],
    ['malformed', 'unreachable'],
    ['failed', 'unreachable'],
  ])('maps outbound fault %s to %s', (fault, error) => {
    expect(toOutcome(new OutboundError(fault))).toEqual({ status: null, error });
  });
});

describe('nextStep', () => {
  it('ends the delivery on 2xx and on 410', () => {
    expect(nextStep({ status: 204, error: null }, 1, null, 0.5)).toEqual({ state: 'delivered' });
    expect(nextStep({ status: 410, error: 'gone' }, 1, null, 0.5)).toEqual({ state: 'gone' });
  });

  it('makes eight attempts over 27 h 35 min 5 s', () => {
    const pauses = SCHEDULE_S.map((_, index) => pauseOf(nextStep(REJECTED, index + 1, null, 0.5)));
    expect(pauses).toEqual(SCHEDULE_S);
    expect(pauses.reduce((sum, pause) => sum + pause)).toBe(27 * 3_600 + 35 * 60 + 5);
    expect(nextStep(REJECTED, 8, 60, 0.5)).toEqual({ state: 'exhausted' });
    // An attempt counts from its claim: a process that dies during the eighth leaves a ninth.
    expect(nextStep(REJECTED, 9, null, 0.5)).toEqual({ state: 'exhausted' });
  });

  it.each(SCHEDULE_S.map((pause, index) => [index + 1, pause]))(
    'jitters the pause after attempt %s by 10 percent',
    (attempt, pause) => {
      expect(pauseOf(nextStep(REJECTED, attempt, null, 0))).toBeCloseTo(pause * 0.9);
      expect(pauseOf(nextStep(REJECTED, attempt, null, 1))).toBeCloseTo(pause * 1.1);
    },
  );

  it.each([
    [429, 3_600, 3_600],
    [503, 60, 60],
    [503, 1, 5],
    [429, null, 5],
    [500, 60, 5],
    [302, 60, 5],
  ])('honors Retry-After only for 429 and 503, and only to wait longer: %s, %s', (status, retryAfter, pause) => {
    expect(pauseOf(nextStep({ status, error: 'rejected' }, 1, retryAfter, 0.5))).toBe(pause);
  });
});
