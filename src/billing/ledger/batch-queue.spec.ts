import { setImmediate as nextIteration } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import {
  AccountLanes,
  type AccountLanesOptions,
  BatchQueue,
  type BatchQueueOptions,
  NotSentError,
} from './batch-queue';

/** An executor whose batches are answered by the test. */
class Executor {
  readonly batches: { operations: readonly string[]; answer: () => void; fail: (error: unknown) => void }[] = [];
  private arrivals: (() => void)[] = [];

  readonly execute = (operations: readonly string[]): Promise<string[]> =>
    new Promise((resolve, reject) => {
      this.batches.push({ operations, answer: () => resolve(operations.map((each) => `${each}!`)), fail: reject });
      this.arrivals.splice(0).forEach((arrived) => arrived());
    });

  /** The batch of this number, counted from 1, as soon as there is one. */
  async batch(number: number) {
    while (this.batches.length < number) {
      await new Promise<void>((resolve) => this.arrivals.push(resolve));
    }
    const batch = this.batches[number - 1];
    if (batch === undefined) throw new Error('unreachable');
    return batch;
  }
}

function setUp(options: Partial<BatchQueueOptions<string, string>> = {}) {
  const time = { nowMs: 0 };
  const executor = new Executor();
  const queue = new BatchQueue<string, string>({
    execute: executor.execute,
    clock: { now: () => time.nowMs, monotonic: () => time.nowMs },
    maxWaitMs: 2_000,
    persistent: false,
    ...options,
  });
  return { time, executor, queue };
}

function databaseError(code: string): DatabaseError {
  return Object.assign(new DatabaseError('refused', 1, 'error'), { code, severity: 'ERROR' });
}

describe('BatchQueue', () => {
  it('batches operations of one event loop iteration and returns results by position', async () => {
    const { executor, queue } = setUp();
    const answers = Promise.all(['a', 'b', 'a'].map((each) => queue.push(each)));
    const batch = await executor.batch(1);
    expect(batch.operations).toEqual(['a', 'b', 'a']);
    batch.answer();
    expect(await answers).toEqual(['a!', 'b!', 'a!']);
  });

  it('gathers operations of several event loop iterations', async () => {
    const { executor, queue } = setUp();
    const answers = [queue.push('a')];
    await nextIteration();
    answers.push(queue.push('b'));
    const batch = await executor.batch(1);
    expect(batch.operations).toEqual(['a', 'b']);
    batch.answer();
    await Promise.all(answers);
  });

  it('collects operations for the next batch while one batch is in flight', async () => {
    const { executor, queue } = setUp();
    const first = queue.push('a');
    const inFlight = await executor.batch(1);
    const others = Promise.all(['b', 'c'].map((each) => queue.push(each)));
    expect(executor.batches).toHaveLength(1);
    inFlight.answer();
    await first;
    const next = await executor.batch(2);
    expect(next.operations).toEqual(['b', 'c']);
    next.answer();
    await others;
  });

  it('limits a batch to 128 operations', async () => {
    const { executor, queue } = setUp();
    const answers = Promise.all(Array.from({ length: 300 }, (_, index) => queue.push(`${index}`)));
    for (let number = 1; number <= 3; number += 1) {
      (await executor.batch(number)).answer();
    }
    expect(executor.batches.map(({ operations }) => operations.length)).toEqual([128, 128, 44]);
    expect(await answers).toHaveLength(300);
  });

  it('retries a failed batch with the same operations', async () => {
    const { executor, queue } = setUp();
    const answer = queue.push('a');
    (await executor.batch(1)).fail(new Error('connection lost'));
    const again = await executor.batch(2);
    expect(again.operations).toEqual(['a']);
    again.answer();
    expect(await answer).toBe('a!');
  });

  it('rejects only the operation whose answer is an error', async () => {
    const { queue } = setUp({
      execute: async (operations) => operations.map((each) => (each === 'b' ? new Error('no') : each)),
    });
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((each) => queue.push(each)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('isolates an operation that the database refuses permanently', async () => {
    const { queue } = setUp({
      execute: async (operations) => {
        if (operations.includes('bad')) throw databaseError('22P05');
        return [...operations];
      },
    });
    const outcomes = await Promise.allSettled(['a', 'bad', 'c'].map((each) => queue.push(each)));
    expect(outcomes).toEqual([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: expect.objectContaining({ code: 'internal_error' }) },
      { status: 'fulfilled', value: 'c' },
    ]);
  });

  it('abandons no isolated operation that has been answered', async () => {
    const onAbandoned = jest.fn();
    const { time, executor, queue } = setUp({ onAbandoned });
    const [first, second] = ['a', 'b'].map((each) => queue.push(each));
    (await executor.batch(1)).fail(databaseError('22P05'));
    (await executor.batch(2)).answer();
    expect(await first).toBe('a!');
    await executor.batch(3);
    time.nowMs = 2_001;
    await expect(second).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(onAbandoned.mock.calls).toEqual([['b']]);
  });

  it('executes the fallback of a refused operation', async () => {
    const { queue } = setUp({
      fallbackFor: (operation) => (operation === 'bad' ? 'good' : null),
      execute: async (operations) => {
        if (operations.includes('bad')) throw databaseError('23514');
        return [...operations];
      },
    });
    expect(await queue.push('bad')).toBe('good');
  });

  it('rejects a caller after maxWaitMs and reports operations that may have run', async () => {
    const abandoned: string[] = [];
    const { time, executor, queue } = setUp({ onAbandoned: (operation) => abandoned.push(operation) });
    const sent = queue.push('sent');
    const inFlight = await executor.batch(1);
    const waiting = queue.push('waiting');
    time.nowMs = 2_001;
    await expect(Promise.allSettled([sent, waiting])).resolves.toEqual([
      { status: 'rejected', reason: expect.objectContaining({ code: 'service_unavailable', retryAfterSeconds: 1 }) },
      { status: 'rejected', reason: expect.objectContaining({ code: 'service_unavailable' }) },
    ]);
    expect(abandoned).toEqual(['sent']);
    inFlight.answer();
    await new Promise(setImmediate);
    expect(executor.batches).toHaveLength(1);
  });

  it('reports no abandoned operation when it was never sent', async () => {
    const abandoned: string[] = [];
    const { time, executor, queue } = setUp({ onAbandoned: (operation) => abandoned.push(operation) });
    const answer = queue.push('a');
    const inFlight = await executor.batch(1);
    time.nowMs = 2_001;
    inFlight.fail(new NotSentError('no connection'));
    await expect(answer).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(abandoned).toEqual([]);
  });

  it('stops retrying for a caller that timed out between two attempts', async () => {
    const { time, executor, queue } = setUp();
    const answer = queue.push('a');
    // The fourth pause is long enough for the next timeout scan.
    for (let number = 1; number <= 4; number += 1)
      (await executor.batch(number)).fail(new NotSentError('no connection'));
    await new Promise(setImmediate);
    time.nowMs = 2_001;
    await expect(answer).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await queue.drain(5_000)).toBe(true);
    expect(executor.batches).toHaveLength(4);
  });

  it('keeps retrying after a timeout when the queue is persistent', async () => {
    const { time, executor, queue } = setUp({ persistent: true });
    const answer = queue.push('a');
    const inFlight = await executor.batch(1);
    time.nowMs = 2_001;
    inFlight.fail(new Error('connection lost'));
    await expect(answer).rejects.toMatchObject({ code: 'service_unavailable' });
    const again = await executor.batch(2);
    expect(again.operations).toEqual(['a']);
    again.answer();
    expect(await queue.drain(1_000)).toBe(true);
  });

  it('is congested when too many operations are waiting, or one has waited too long', async () => {
    const { time, executor, queue } = setUp();
    const answers = [queue.push('first')];
    const inFlight = await executor.batch(1);
    expect(queue.congested).toBe(false);
    time.nowMs = 1_001;
    expect(queue.congested).toBe(true);
    time.nowMs = 0;
    for (let index = 0; index <= 2_000; index += 1) {
      answers.push(queue.push(`${index}`));
    }
    expect(queue.congested).toBe(true);
    inFlight.answer();
    for (let number = 2; number <= 17; number += 1) {
      (await executor.batch(number)).answer();
    }
    await Promise.all(answers);
    expect(queue.congested).toBe(false);
  });

  it('rejects operations after it was drained', async () => {
    const { executor, queue } = setUp();
    const answer = queue.push('a');
    const draining = queue.drain(1_000);
    (await executor.batch(1)).answer();
    expect(await draining).toBe(true);
    expect(await answer).toBe('a!');
    await expect(queue.push('b')).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('stops draining after the timeout when a batch does not end', async () => {
    const { executor, queue } = setUp({ persistent: true });
    const answer = queue.push('a');
    const inFlight = await executor.batch(1);
    expect(await queue.drain(10)).toBe(false);
    inFlight.fail(new Error('connection lost'));
    await expect(answer).rejects.toMatchObject({ code: 'service_unavailable' });
  });
});

describe('AccountLanes', () => {
  interface Operation {
    readonly organizationId: string;
    readonly name: string;
  }

  const operation = (organizationId: string, name: string): Operation => ({ organizationId, name });
  const namesOf = (operations: readonly Operation[]): string[] => operations.map(({ name }) => name);
  const lockTimeout = (): DatabaseError =>
    Object.assign(new DatabaseError('canceling statement due to lock timeout', 1, 'error'), {
      code: '55P03',
      severity: 'ERROR',
    });

  /** Accounts that a test locks, and the batches that were executed. */
  function setUp(options: Partial<AccountLanesOptions<Operation, string>> = {}) {
    const locked = new Set<string>();
    const [batches, isolated, attempts]: [string[][], string[][], number[]] = [[], [], []];
    const execute = (into: string[][]) => async (operations: readonly Operation[], attempt: number) => {
      into.push(namesOf(operations));
      if (into === isolated) attempts.push(attempt);
      if (operations.some(({ organizationId }) => locked.has(organizationId))) throw lockTimeout();
      return operations.map(({ name }) => `${name}!`);
    };
    const time = { nowMs: 0 };
    const lanes = new AccountLanes<Operation, string>({
      clock: { now: () => time.nowMs, monotonic: () => time.nowMs },
      maxWaitMs: 1_800,
      isolatedMaxWaitMs: 1_200,
      persistent: false,
      execute: execute(batches),
      executeIsolated: execute(isolated),
      findLockedAccounts: async (organizationIds) => new Set(organizationIds.filter((id) => locked.has(id))),
      ...options,
    });
    return { lanes, locked, batches, isolated, attempts, time };
  }

  it('batches operations of all accounts together', async () => {
    const { lanes, batches, isolated } = setUp();
    const answers = await Promise.all([lanes.push(operation('a', 'a1')), lanes.push(operation('b', 'b1'))]);
    expect([answers, batches, isolated]).toEqual([['a1!', 'b1!'], [['a1', 'b1']], []]);
  });

  it('does not block other accounts while one account is locked', async () => {
    const { lanes, locked, batches } = setUp();
    locked.add('a');
    const held = lanes.push(operation('a', 'a1'));
    expect(await lanes.push(operation('b', 'b1'))).toBe('b1!');
    const another = lanes.push(operation('a', 'a2'));
    expect(await lanes.push(operation('b', 'b2'))).toBe('b2!');
    expect(batches).toEqual([['a1', 'b1'], ['b1'], ['b2']]);
    locked.clear();
    expect(await Promise.all([held, another])).toEqual(['a1!', 'a2!']);
  });

  it('runs into a lock only once, however many operations already wait for it', async () => {
    let reached = (): void => undefined;
    const isFound = new Promise<void>((resolve) => (reached = resolve));
    let find = (_locked: ReadonlySet<string>): void => undefined;
    const found = new Promise<ReadonlySet<string>>((resolve) => (find = resolve));
    const { lanes, locked, batches } = setUp({
      findLockedAccounts: () => {
        reached();
        return found;
      },
    });
    locked.add('a');
    const held = [lanes.push(operation('a', 'a1'))];
    await isFound;
    held.push(lanes.push(operation('a', 'a2')));
    const free = lanes.push(operation('b', 'b1'));
    find(new Set('a'));
    expect(await free).toBe('b1!');
    expect(batches).toEqual([['a1'], ['b1']]);
    locked.clear();
    expect(await Promise.all(held)).toEqual(['a1!', 'a2!']);
  });

  it('returns an account to the shared queue once its operations succeed', async () => {
    const { lanes, locked, batches } = setUp();
    locked.add('a');
    const held = lanes.push(operation('a', 'a1'));
    await lanes.push(operation('b', 'b1'));
    locked.clear();
    await held;
    await new Promise(setImmediate);
    await lanes.push(operation('a', 'a2'));
    expect(batches.at(-1)).toEqual(['a2']);
  });

  it('rejects callers of a locked account sooner and reports the account as congested', async () => {
    const { lanes, locked, time } = setUp();
    locked.add('a');
    const held = lanes.push(operation('a', 'a1'));
    await lanes.push(operation('b', 'b1'));
    await new Promise(setImmediate);
    time.nowMs = 1_100;
    expect([lanes.isCongested('a'), lanes.isCongested('b')]).toEqual([true, false]);
    time.nowMs = 1_201;
    await expect(held).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await lanes.drain(5_000)).toBe(true);
  });

  it('keeps the lane of a locked account even when no caller waits for it', async () => {
    const { lanes, locked, batches, isolated, time } = setUp();
    locked.add('a');
    const held = lanes.push(operation('a', 'a1'));
    await lanes.push(operation('b', 'b1'));
    time.nowMs = 1_201;
    await expect(held).rejects.toMatchObject({ code: 'service_unavailable' });
    const before = batches.length;
    const again = lanes.push(operation('a', 'a2'));
    locked.clear();
    expect(await again).toBe('a2!');
    expect([batches.length, isolated.at(-1)]).toEqual([before, ['a2']]);
  });

  it('does not count a lock timeout as an attempt, because nothing can have been committed', async () => {
    const { lanes, locked, isolated, attempts } = setUp({ persistent: true });
    locked.add('a');
    const held = lanes.push(operation('a', 'a1'));
    await lanes.push(operation('b', 'b1'));
    locked.clear();
    await held;
    expect([isolated[0], attempts[0]]).toEqual([['a1'], 1]);
  });

  it('treats no account as locked when the lookup of locked accounts fails', async () => {
    const { lanes, locked, isolated } = setUp({ findLockedAccounts: () => Promise.reject(new Error('no connection')) });
    locked.add('a');
    const answers = Promise.all([lanes.push(operation('a', 'a1')), lanes.push(operation('b', 'b1'))]);
    await new Promise(setImmediate);
    locked.clear();
    expect([await answers, isolated]).toEqual([['a1!', 'b1!'], []]);
  });
});
