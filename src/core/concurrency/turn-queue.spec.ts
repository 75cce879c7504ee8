import { setImmediate as nextTurn } from 'node:timers/promises';
import { TurnQueue } from './turn-queue';

it('runs one task per event loop iteration, in order', async () => {
  const queue = new TurnQueue();
  const done: string[] = [];
  for (const name of ['first', 'second', 'third']) queue.run(() => void done.push(name));
  const seen: string[][] = [];
  for (let turn = 0; turn < 4; turn++) {
    seen.push([...done]);
    await nextTurn();
  }
  expect(seen).toEqual([[], ['first'], ['first', 'second'], ['first', 'second', 'third']]);
});

it('accepts tasks after it was empty, also from within a task', async () => {
  const queue = new TurnQueue();
  const done: string[] = [];
  queue.run(() => queue.run(() => void done.push('inner')));
  await nextTurn();
  await nextTurn();
  queue.run(() => void done.push('later'));
  await nextTurn();
  expect(done).toEqual(['inner', 'later']);
});
