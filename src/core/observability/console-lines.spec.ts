import { logConsole } from './console-lines';
import { createLogger } from './logger';

const { debug, log, info, warn, error } = console;
const listeners = process.listeners('warning');

afterEach(() => {
  Object.assign(console, { debug, log, info, warn, error });
  process.removeAllListeners('warning');
  for (const listener of listeners) process.on('warning', listener);
});

it('logs console output of libraries and Node as single lines with an event, without secrets', () => {
  const lines: string[] = [];
  logConsole(createLogger({ level: 'info', production: false }, { write: (line) => void lines.push(line) }));
  console.warn('Eviction policy is %s.\nIt should be "noeviction"', 'allkeys-lru');
  console.error('[ioredis] Unhandled error event:', new Error('redis://user:hunter2@cache:6379'));
  process.emit('warning', Object.assign(new Error('use node:url'), { name: 'DeprecationWarning' }));
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 'warn', event: 'library_warning', msg: 'Eviction policy is allkeys-lru.\nIt should be "noeviction"' },
    { level: 'error', event: 'library_error', msg: expect.stringContaining('[ioredis] Unhandled error event:') },
    { level: 'warn', event: 'node_warning', msg: 'DeprecationWarning: use node:url' },
  ]);
  expect(lines.join('')).not.toContain('hunter2');
});
