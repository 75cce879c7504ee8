import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { SupervisedProcess } from './supervised-process';

const FULL_DISK = new Error('ENOSPC: no space left on device, write');

describe('a supervised server', () => {
  let children: ChildProcess[];
  let events: unknown[];

  beforeEach(() => {
    children = [];
    events = [];
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  function supervise(onLaunch: () => void): SupervisedProcess {
    const logger = pino({}, { write: (line) => events.push((JSON.parse(line) as { event: unknown }).event) });
    const launch = (): Promise<ChildProcess> => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      children.push(child);
      return Promise.resolve(child);
    };
    return new SupervisedProcess({ name: 'The server', launch, onLaunch, endSteps: [['SIGKILL', 2_000]] }, logger);
  }

  it('keeps running when a full disk prevents recording its restart', async () => {
    const server = supervise(() => {
      if (children.length > 1) throw FULL_DISK;
    });
    await server.start();
    children[0]?.kill('SIGKILL');
    while (!events.includes('embedded_server_not_recorded') && children.length < 3) await delay(10);
    await server.stop();
    expect(events).toEqual(['embedded_server_exited', 'embedded_server_not_recorded']);
    expect(children).toHaveLength(2);
  });

  it('ends when a full disk prevents recording its start', async () => {
    const server = supervise(() => {
      throw FULL_DISK;
    });
    await expect(server.start()).rejects.toBe(FULL_DISK);
    while (children[0]?.signalCode === null) await delay(10);
    expect([children[0]?.signalCode, events]).toEqual(['SIGKILL', []]);
  });
});
