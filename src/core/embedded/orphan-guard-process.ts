/** The process behind `orphan-guard.ts`. It loads little, so that it starts fast and stays small. */
import { endProcess, processStartMark } from './process-control';
import type { GuardedServer } from './orphan-guard';

let guarded: GuardedServer | null = null;

process.on('message', (server: GuardedServer) => {
  guarded = server;
});
// Ctrl-C reaches all processes of a terminal; the owner first finishes its requests, which need the server.
process.on('SIGINT', () => undefined);

process.once('disconnect', () => {
  if (guarded === null || processStartMark(guarded.pid) !== guarded.startMark) return;
  void endProcess(guarded.pid, guarded.endSteps);
});
