import { makeMusic } from '../sound/make-music';
import { makeVideo } from '../video/make-video';
import type { JobWish } from './job-record';

/** The file, the same for the same wish and number. */
export async function makeOutput(wish: JobWish, number: number): Promise<Buffer> {
  return wish.kind === 'video'
    ? makeVideo({ ...wish, seed: number })
    : (await makeMusic({ ...wish, seed: number })).bytes;
}
