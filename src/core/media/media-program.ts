import type { FromMediaProcess, ReadRange, ToMediaProcess } from './media-processes';

/**
 * The main function of a process of `MediaProcesses`: runs one task at a time and replies with its outcome. Errors mean
 * that the file has another format or is damaged.
 * @param run resolves to `null` for a file that is not readable.
 */
export function serveTasks<Task>(run: (task: Task, readRange: ReadRange) => unknown): void {
  const reads = new Map<number, (bytes: Uint8Array | null) => void>();
  let ranges = 0;
  const readRange: ReadRange = async (start, end) => {
    const range = ++ranges;
    send({ range, start, end });
    const bytes = await new Promise<Uint8Array | null>((resolve) => reads.set(range, resolve));
    if (bytes === null) throw new Error('the file cannot be read');
    return bytes;
  };
  const execute = async (task: Task): Promise<unknown> => run(task, readRange);

  process.on('message', (message: ToMediaProcess) => {
    if ('range' in message) {
      reads.get(message.range)?.(message.bytes);
      reads.delete(message.range);
      return;
    }
    void execute(message.task as Task)
      .catch(() => null)
      .then((outcome) => send({ outcome }));
  });
  // The gateway ends its processes after their last task. Supervisors may signal all of them when it begins to stop.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  process.once('disconnect', () => process.exit());
  // An exception in a library's callback means a bad file, so the process ends with a signal. Only failures before this
  // line end with an exit code.
  process.once('uncaughtException', () => process.kill(process.pid, 'SIGKILL'));
}

function send(message: FromMediaProcess): void {
  process.send?.(message);
}
