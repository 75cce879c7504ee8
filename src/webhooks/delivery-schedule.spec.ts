import { OutboundError, type OutboundFault } from '../outbound/outbound-error';
import { nextStep, toOutcome } from './delivery-schedule';
import type { AttemptOutcome, NextStep } from './webhook.types';

const REJECTED: AttemptOutcome = { status: 500, error: 'rejected' };
const SCHEDULE_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

const pauseOf = (step: NextStep): number => (step.state === 'pending' ? step.retryInMs / 1_000 : Number.NaN);

describe('what an attempt has come to', () => {
  it.each([200, 201, 202, 204, 299])('is a delivery for %s', (status) => {
    expect(toOutcome({ status, retryAfterSeconds: null })).toEqual({ status, error: null });
  });

  it.each([300, 301, 302, 307, 308, 400, 401, 404, 429, 500, 503, 599])('is a failure for %s', (status) => {
    expect(toOutcome({ status, retryAfterSeconds: null })).toEqual({ status, error: 'rejected' });
  });

  it('is the end for 410', () => {
    expect(toOutcome({ status: 410, retryAfterSeconds: 60 })).toEqual({ status: 410, error: 'gone' });
  });

  it.each<[OutboundFault, string]>([
    ['blocked', 'address_blocked'],
    ['malformed', 'unreachable'],
    ['failed', 'unreachable'],
  ])('is told without more words for %s', (fault, error) => {
    expect(toOutcome(new OutboundError(fault))).toEqual({ status: null, error });
  });
});

describe('what is done next', () => {
  it('is nothing once delivered, or told that the receiver is gone', () => {
    expect(nextStep({ status: 204, error: null }, 1, null, 0.5)).toEqual({ state: 'delivered' });
    expect(nextStep({ status: 410, error: 'gone' }, 1, null, 0.5)).toEqual({ state: 'gone' });
  });

  it('is to wait as decided, eight attempts in all, over 27 h 35 min 5 s', () => {
    const pauses = SCHEDULE_S.map((_, index) => pauseOf(nextStep(REJECTED, index + 1, null, 0.5)));
    expect(pauses).toEqual(SCHEDULE_S);
    expect(pauses.reduce((sum, pause) => sum + pause)).toBe(27 * 3_600 + 35 * 60 + 5);
    expect(nextStep(REJECTED, 8, 60, 0.5)).toEqual({ state: 'exhausted' });
    // An attempt counts from its beginning: a process that died in the eighth leaves a ninth to be made.
    expect(nextStep(REJECTED, 9, null, 0.5)).toEqual({ state: 'exhausted' });
  });

  it.each(SCHEDULE_S.map((pause, index) => [index + 1, pause]))(
    'differs by a tenth to either side after attempt %s',
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
  ])('heeds Retry-After where the receiver is busy, and never comes sooner: %s, %s', (status, retryAfter, pause) => {
    expect(pauseOf(nextStep({ status, error: 'rejected' }, 1, retryAfter, 0.5))).toBe(pause);
  });
});
