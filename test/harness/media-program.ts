/** A program for `MediaProcesses` that does what its task says. */
import { writeFileSync } from 'node:fs';
import { serveTasks } from '../../src/core/media/media-program';

export type ScriptedTask =
  | 'read'
  | 'reply'
  | 'crash'
  | 'reply, then crash'
  | 'reply, then crash with the next task'
  | `${typeof CREATE}${string}`
  | 'keys'
  | 'items'
  | 'numbers';

/** Before the path of a file that exists once the reply is in the pipe. */
const CREATE = 'reply, then create ';

/** They allocate until the process ends. */
const FILLS = {
  keys: () => {
    const filled: Record<string, number> = {};
    for (let index = 0; ; index++) filled[`k${index}`] = index;
  },
  items: () => {
    const filled = new Map<number, number>();
    for (let index = 0; ; index++) filled.set(index, index);
  },
  numbers: () => {
    const filled: number[] = [];
    for (let index = 0; ; index++) filled[index] = index + 0.5;
  },
};

let crashesNext = false;

serveTasks<ScriptedTask>(async (task, readRange) => {
  if (crashesNext) process.kill(process.pid, 'SIGKILL');
  if (task === 'reply, then crash with the next task') {
    crashesNext = true;
    return task;
  }
  if (task === 'reply') return task;
  if (isCreate(task)) {
    setImmediate(() => writeFileSync(task.slice(CREATE.length), ''));
    return task;
  }
  if (task === 'read') return Buffer.from(await readRange(2, 5)).toString();
  if (task !== 'crash' && task !== 'reply, then crash') return FILLS[task]();
  setImmediate(() => {
    throw new Error('in a callback');
  });
  return task === 'crash' ? new Promise(() => undefined) : task;
});

function isCreate(task: ScriptedTask): task is `${typeof CREATE}${string}` {
  return task.startsWith(CREATE);
}
