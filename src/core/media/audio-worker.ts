/*
 * The thread that measures audio files for `media-probes.ts`, one per message, and writes the measured packets to a
 * new file. A hostile file may exhaust its time or memory; the owner then terminates it.
 */
import { parentPort } from 'node:worker_threads';
import type { AudioProbeTask } from './media-probes';
import { remux } from './audio-remux';

parentPort?.on('message', ({ bytes }: AudioProbeTask) => {
  void remux(bytes)
    // Errors of the reader mean that the file has another format or is damaged.
    .catch(() => null)
    .then((outcome) => parentPort?.postMessage(outcome, outcome === null ? [] : [outcome.bytes.buffer]));
});
