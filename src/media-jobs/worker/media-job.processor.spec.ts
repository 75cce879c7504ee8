import type { Job } from 'bullmq';
import type { AppConfig } from '../../core/config/app-config';
import type { QueueConnection } from '../../core/queue/queue-connection';
import type { WakeUp } from '../../core/queue/wake-up-queue';
import { systemClock } from '../../core/time/clock';
import type { JobRoutes } from '../job-routes';
import type { MediaJobRepository } from '../media-job.repository';
import type { DueJob } from '../media-job.types';
import type { JobRunner, StepEnd } from './job-runner';
import type { JobSweeps } from './job-sweeps';
import { MediaJobProcessor } from './media-job.processor';

const KEY = { organizationId: 'o', id: 'a' };
const REMEMBERED: DueJob = { ...KEY, version: 4, lane: 'l' };
const STORED = { ...KEY, version: 5, lane: 'l', inMs: 0 };

describe('a wake-up of a job', () => {
  /**
   * Wakes a job; resolves with the versions that were begun, the reads of its row, and whether another wake-up follows.
   */
  async function wake(remembered: DueJob | null, stored: typeof STORED | null, ends: readonly StepEnd[]) {
    const begun: number[] = [];
    let reads = 0;
    const runner = {
      takeUpcomingPoll: () => remembered,
      waitForSlot: () => Promise.resolve(),
      begin: ({ version }: DueJob) => (begun.push(version), Promise.resolve(ends[begun.length - 1])),
    } as unknown as JobRunner;
    const jobs = { findNextStep: () => (reads++, Promise.resolve(stored)) } as unknown as MediaJobRepository;
    const processor = new MediaJobProcessor(
      jobs,
      runner,
      {} as JobSweeps,
      {} as JobRoutes,
      {} as QueueConnection,
      systemClock,
      { worker: { concurrency: 1 } } as AppConfig,
    );
    let isDelayed = false;
    const entry = { data: KEY, moveToDelayed: () => ((isDelayed = true), Promise.resolve()) };
    await processor.process(entry as unknown as Job<WakeUp>).catch(() => undefined);
    return { begun, reads, isDelayed };
  }

  it.each<[string, DueJob | null, typeof STORED | null, StepEnd[], object]>([
    [
      'polls without reading its row, if this process polled it last',
      REMEMBERED,
      null,
      [{ inMs: 10, version: 6 }],
      { begun: [4], reads: 0, isDelayed: true },
    ],
    [
      'reads its row if that has changed since',
      REMEMBERED,
      STORED,
      ['not-claimed', { inMs: 10, version: 6 }],
      { begun: [4, 5], reads: 1, isDelayed: true },
    ],
    [
      'reads its row if another process polled it last',
      null,
      STORED,
      [{ inMs: 10, version: 6 }],
      { begun: [5], reads: 1, isDelayed: true },
    ],
    ['ends with the job', REMEMBERED, null, [null], { begun: [4], reads: 0, isDelayed: false }],
    ['ends if another worker holds the job', null, STORED, ['not-claimed'], { begun: [5], reads: 1, isDelayed: false }],
  ])('%s', async (_what, remembered, stored, ends, outcome) => {
    expect(await wake(remembered, stored, ends)).toEqual(outcome);
  });
});
