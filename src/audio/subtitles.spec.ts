import * as fc from 'fast-check';
import { toSrt, toVtt } from './subtitles';

const segment = (start: number, end: number, text: string) => ({ start, end, text });

describe('toSrt', () => {
  it('numbers the cues and rounds times to milliseconds, with a comma', () => {
    expect(toSrt([segment(0, 1.0004, ' One '), segment(1.0005, 3_661.9996, 'Two')])).toBe(
      '1\n00:00:00,000 --> 00:00:01,000\nOne\n\n2\n00:00:01,001 --> 01:01:02,000\nTwo\n\n',
    );
  });

  it('removes empty lines and arrows from cue text', () => {
    expect(toSrt([segment(0, 1, 'a\r\n\r\n b ---> c\u2028\n')])).toBe(
      '1\n00:00:00,000 --> 00:00:01,000\na\nb -> c\n\n',
    );
  });

  it('drops cues without text, and is empty without cues', () => {
    expect(toSrt([segment(0, 1, ' \n'), segment(1, 2, 'x')])).toBe('1\n00:00:01,000 --> 00:00:02,000\nx\n\n');
    expect(toSrt([])).toBe('');
  });

  it('counts hours beyond a day', () => {
    expect(toSrt([segment(360_000, 360_001, 'late')])).toContain('100:00:00,000 --> 100:00:01,000');
  });
});

describe('toVtt', () => {
  it('writes the header and times with a point', () => {
    expect(toVtt([segment(59.9999, 61.5, 'Hi')])).toBe('WEBVTT\n\n00:01:00.000 --> 00:01:01.500\nHi\n\n');
    expect(toVtt([])).toBe('WEBVTT\n\n');
  });

  it('escapes markup characters', () => {
    expect(toVtt([segment(0, 1, 'a < b & <i>c</i> --> d')])).toContain(
      '\na &lt; b &amp; &lt;i&gt;c&lt;/i&gt; --&gt; d\n',
    );
  });
});

describe('cue times', () => {
  const anyTime = fc.oneof(fc.double({ min: -1, max: 400_000 }), fc.constantFrom(NaN, Infinity, -Infinity, -0));

  it('are ordered and have a duration for any model timestamps', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyTime, anyTime)), (times) => {
        const srt = toSrt(times.map(([start, end]) => segment(start, end, 'x')));
        const cues = [...srt.matchAll(/^(\d+:\d\d:\d\d,\d{3}) --> (\d+:\d\d:\d\d,\d{3})$/gm)];
        expect(cues).toHaveLength(times.length);
        let latestMs = 0;
        for (const [, start, end] of cues) {
          expect(read(start)).toBeGreaterThanOrEqual(latestMs);
          expect(read(end)).toBeGreaterThan(read(start));
          latestMs = read(start);
        }
      }),
    );
  });

  it('are unchanged when they are in order', () => {
    const ordered = fc.uniqueArray(fc.integer({ min: 0, max: 100_000_000 }), { minLength: 2 });
    fc.assert(
      fc.property(ordered, (numbers) => {
        const milliseconds = numbers.toSorted((left, right) => left - right);
        const segments = milliseconds
          .slice(1)
          .map((end, at) => segment(Number(milliseconds[at]) / 1_000, end / 1_000, 'x'));
        const times = [...toVtt(segments).matchAll(/^(\S+) --> (\S+)$/gm)].flatMap(([, start, end]) => [
          read(start),
          read(end),
        ]);
        expect(times).toEqual(
          milliseconds.flatMap((time, at) => (at === 0 || at === milliseconds.length - 1 ? [time] : [time, time])),
        );
      }),
    );
  });
});

function read(time = ''): number {
  const [hours = '', minutes = '', seconds = ''] = time.split(':');
  return Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Math.round(Number(seconds.replace(',', '.')) * 1_000);
}
