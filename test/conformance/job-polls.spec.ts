import { pollPauseMs } from '../../src/media-jobs/worker/pauses';
import { SUBJECTS } from './subjects';

/** The mock is in the process: its jobs are polled as often as tests like. */
const REMOTE = SUBJECTS.filter(({ definition }) => !definition.id.startsWith('mock'));

it.each(REMOTE.map(({ definition, environment }) => [definition.id, definition, environment] as const))(
  'polls jobs of %s at most three times in ten seconds, however the pauses vary',
  async (_id, definition, environment) => {
    const provider = definition.create(environment('http://127.0.0.1:9'));
    for (const adapter of [provider?.video, provider?.music]) {
      if (adapter?.mode !== 'async') continue;
      // The first moment is the submission.
      const moments = [0];
      for (let polls = 0; polls < 10; polls++) {
        moments.push((moments.at(-1) ?? 0) + pollPauseMs(adapter.capabilities, polls, undefined, () => 0));
      }
      const polled = moments.slice(1);
      const counts = polled.map((from) => polled.filter((at) => at >= from && at < from + 10_000).length);
      expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    }
    await provider?.close();
  },
);
