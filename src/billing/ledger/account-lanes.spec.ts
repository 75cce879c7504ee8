import { DatabaseError } from 'pg';
import { AccountLanes, type AccountLanesOptions } from './batch-queue';

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

describe('AccountLanes', () => {
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
