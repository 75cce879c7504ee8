/**
 * Ends the processes of an interrupted test run: `child-process.ts` forks one guard per test file and registers every
 * process with it. The channel closes when the runner exits for any reason. Then the guard sends each process its
 * registered stop signal, and kills it if it does not stop.
 */
const KILL_AFTER_MS = 10_000;
const POLL_MS = 100;

/** @type {Map<number, NodeJS.Signals>} */
const watched = new Map();

process.on('message', ({ pid, stopSignal }) => {
  if (stopSignal === null) watched.delete(pid);
  else watched.set(pid, stopSignal);
});

process.once('disconnect', () => {
  for (const [pid, stopSignal] of watched) send(pid, stopSignal);
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const alive = [...watched.keys()].filter((pid) => send(pid, 0));
    if (alive.length > 0 && performance.now() - startedAt < KILL_AFTER_MS) return;
    alive.forEach((pid) => send(pid, 'SIGKILL'));
    clearInterval(timer);
  }, POLL_MS);
});

function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
