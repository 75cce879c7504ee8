import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScriptedTask } from '../../../test/harness/media-program';
import { MediaProcesses, type ReadRange } from './media-processes';

const CREATE = 'reply, then create ';
const PROGRAM = require.resolve('../../../test/harness/media-program');
const PATIENCE_MS = 60_000;
const processes = new MediaProcesses<string>(PROGRAM, PATIENCE_MS, 2);
afterAll(() => processes.close());

const run = (task: ScriptedTask, readRange?: ReadRange): Promise<string | null> =>
  processes.run(task, 'organization', { readRange });

describe('media processes', () => {
  it.each<ScriptedTask>(['keys', 'items', 'numbers'])(
    'may fill their memory with %s: the gateway goes on',
    async (task) => {
      expect(await run(task)).toBeNull();
      expect(await run('read', async () => Buffer.from('next'))).toBe('next');
    },
  );

  it('read the requested ranges of a file', async () => {
    const file = Buffer.from('0123456789');
    expect(await run('read', async (start, end) => file.subarray(start, end))).toBe('234');
  });

  it('report a file as unreadable when a range of it cannot be read', async () => {
    const failing: ReadRange = () => Promise.reject(new Error('EIO'));
    expect(await run('read', failing)).toBeNull();
  });

  it('report a file as unreadable when its process crashes', async () => {
    expect(await run('crash')).toBeNull();
  });

  it('report every file that exceeds the time limit as unreadable', async () => {
    const impatient = new MediaProcesses<string>(PROGRAM, 0, 2);
    const outcomes = Array.from({ length: 5 }, () => impatient.run('read', 'organization'));
    expect(await Promise.all(outcomes)).toEqual(outcomes.map(() => null));
    await impatient.close();
  });

  it('report an error, not a bad file, when their program cannot start', async () => {
    const broken = new MediaProcesses<string>(
      require.resolve('../../../test/harness/broken-program.js'),
      PATIENCE_MS,
      2,
    );
    await expect(broken.run('read', 'organization')).rejects.toThrow('ended with code 1');
    await broken.close();
  });

  it('read a file again when an earlier file had broken its process', async () => {
    const task = 'reply, then crash with the next task';
    expect(await run(task)).toBe(task);
    expect(await run('read', async () => Buffer.from('next'))).toBe('next');
  });

  it('do not keep a task waiting when a process dies after its reply', async () => {
    for (let index = 0; index < 10; index++) expect(await run('reply, then crash')).toBe('reply, then crash');
  });

  it('start no task in a process whose reply arrived after its time limit', async () => {
    const late = new MediaProcesses<string>(PROGRAM, PATIENCE_MS, 1);
    await late.run('reply', null);
    const folder = mkdtempSync(join(tmpdir(), 'media-processes-'));
    const replied = join(folder, 'replied');
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const first = late.run(`${CREATE}${replied}`, null);
    const onTimeLimit = timers.mock.lastCall?.[0] as () => void;
    timers.mockRestore();
    const second = late.run('reply', null);
    // The reply arrives while the event loop is blocked; afterwards, timers run first.
    while (!existsSync(replied)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    onTimeLimit();
    expect(await Promise.all([first, second])).toEqual([`${CREATE}${replied}`, 'reply']);
    await late.close();
    rmSync(folder, { recursive: true });
  });

  it('skip waiting files whose clients have disconnected, and free their bytes', async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<Buffer>();
    const readRange: ReadRange = () => {
      begun.resolve();
      return release.promise;
    };
    const reads: string[] = [];
    const noting = (name: string) => ({ readRange: async () => (reads.push(name), Buffer.from(name)) });
    const first = run('read', readRange);
    await begun.promise;
    const leaving = new AbortController();
    const { signal } = leaving;
    const left = [1, 2].map(() => processes.run('read', 'organization', { ...noting('left'), signal }));
    const stays = processes.run('read', 'organization', noting('stays'));
    leaving.abort(new Error('left'));
    expect(await Promise.allSettled(left)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    release.resolve(Buffer.from('first'));
    expect(await Promise.all([first, stays])).toEqual(['first', 'stays']);
    expect(reads).toEqual(['stays']);
  });

  it('queue files per organization, and organizations alternate', async () => {
    // Files begin when a process asks for them, and are held until the test says so.
    const begun: string[] = [];
    const finishers = new Map<string, () => void>();
    let onBegun: () => void = () => undefined;
    const areBegun = (count: number): Promise<void> =>
      new Promise((resolve) => {
        onBegun = () => {
          if (begun.length >= count) resolve();
        };
        onBegun();
      });
    const finished = new Map<string, Promise<Buffer>>();
    const start = (file: string): Promise<unknown> => {
      finished.set(file, new Promise((resolve) => finishers.set(file, () => resolve(Buffer.from(file)))));
      const readRange = async () => {
        begun.push(file);
        onBegun();
        return finished.get(file) ?? Buffer.alloc(0);
      };
      return processes.run('read', file.slice(0, -2), { readRange });
    };
    const first = start('many 1');
    await areBegun(1);
    const others = ['many 2', 'many 3', 'few 1', 'few 2', 'one 1'].map(start);
    await areBegun(2);
    finishers.get('few 1')?.();
    await areBegun(3);
    finishers.get('one 1')?.();
    await areBegun(4);
    const begunWithFirst = [...begun];
    for (const finish of finishers.values()) finish();
    await Promise.all([first, ...others]);
    // While the first file of an organization is read, its others wait.
    expect(begunWithFirst).toEqual(['many 1', 'few 1', 'one 1', 'few 2']);
  });
});
