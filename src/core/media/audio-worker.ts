/*
 * The thread that measures audio files for `probe-threads.ts`, one per message, and writes the measured packets to a
 * new file. A hostile file may exhaust its time or memory; the owner then terminates it.
 */
import { registerHooks } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { ProbeOutcome, ProbeTask } from './audio-probe.types';

type SoundRemux = typeof import('./sound-remux');

const [, path = ''] = process.argv;
const folder = pathToFileURL(join(dirname(path), '/')).href;

// Modules of this folder have the extension of this file: `.js`, or `.ts` where sources run without a build.
registerHooks({
  resolve: (specifier, context, next) => {
    const isNeighbour = specifier.startsWith('./') && context.parentURL?.startsWith(folder) === true;
    return next(isNeighbour && extname(specifier) === '' ? specifier + extname(path) : specifier, context);
  },
});
const loading = import(`${folder}${basename(path).replace('audio-worker', 'sound-remux')}`) as Promise<SoundRemux>;

parentPort?.on('message', ({ bytes }: ProbeTask) => {
  void loading
    // Errors of the reader mean that the file has another format or is damaged.
    .then(({ remux }) => remux(bytes).catch((): ProbeOutcome => null))
    .then((outcome) => parentPort?.postMessage(outcome, outcome === null ? [] : [outcome.bytes.buffer]));
});
