/* The process that measures audio files for `media-probes.ts`, and writes the measured packets to a new file. */
import { remux } from './audio-remux';
import { serveTasks } from './media-program';
import type { AudioProbeTask } from './media-probes';

serveTasks(({ bytes }: AudioProbeTask) => remux(new Uint8Array(bytes)));
