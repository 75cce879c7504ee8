import { FINAL_STATUSES, isFinal, JOB_STATUSES, statesBefore, type Transition, TRANSITIONS } from './media-job.states';

/** The allowed transitions, row by row. */
const CONTRACT: readonly Transition[] = [
  { trigger: 'submission', from: [], to: 'queued', hold: 'reserved' },
  { trigger: 'sent', from: ['queued'], to: 'submitted' },
  { trigger: 'begun', from: ['submitted'], to: 'running' },
  { trigger: 'finished', from: ['running'], to: 'succeeded', hold: 'settled', event: 'job.completed' },
  { trigger: 'cancellation', from: ['queued', 'submitted', 'running'], to: 'canceled', hold: 'released' },
  { trigger: 'expiry', from: ['queued', 'submitted', 'running'], to: 'expired', hold: 'expired' },
  // The contract leaves its source states open; a job may fail at any time before its end.
  { trigger: 'failure', from: ['queued', 'submitted', 'running'], to: 'failed', hold: 'released', event: 'job.failed' },
  { trigger: 'deletion', from: ['succeeded', 'failed', 'canceled', 'expired'], to: null },
];

describe('job state machine', () => {
  it.each(CONTRACT)('has the contract transition $trigger', (row) => {
    expect(TRANSITIONS).toContainEqual(row);
  });

  it('has no transition beyond the contract', () => {
    expect(TRANSITIONS).toHaveLength(CONTRACT.length);
  });

  it('reaches every state from a submission', () => {
    const reached = new Set(TRANSITIONS.flatMap(({ from, to }) => (from.length === 0 && to !== null ? [to] : [])));
    for (const status of reached) {
      for (const { from, to } of TRANSITIONS) if (to !== null && from.includes(status)) reached.add(to);
    }
    expect(reached).toEqual(new Set(JOB_STATUSES));
  });

  it('treats a state as final when deletion is its only exit', () => {
    for (const status of JOB_STATUSES) {
      const exits = TRANSITIONS.filter(({ from }) => from.includes(status)).map(({ trigger }) => trigger);
      expect([status, isFinal(status)]).toEqual([status, exits.length === 1 && exits[0] === 'deletion']);
    }
  });

  it('ends the reservation in every final state, and sends events only there', () => {
    for (const { to, hold, event } of TRANSITIONS) {
      const isEnd = to !== null && isFinal(to);
      expect([to, hold !== undefined && hold !== 'reserved']).toEqual([to, isEnd]);
      expect([to, event !== undefined && !isEnd]).toEqual([to, false]);
    }
    expect(FINAL_STATUSES.map(statesBefore)).toEqual([
      ['running'],
      ['queued', 'submitted', 'running'],
      ['queued', 'submitted', 'running'],
      ['queued', 'submitted', 'running'],
    ]);
  });
});
