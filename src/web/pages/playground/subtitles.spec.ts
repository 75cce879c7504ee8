import { toSrt, toVtt } from './subtitles';

const SEGMENTS = [
  { start: 0, end: 1.5, text: ' Hello' },
  { start: 3661.0004, end: 3662.9999, text: 'there ' },
];

describe('subtitles', () => {
  it('are numbered with commas in SubRip', () => {
    expect(toSrt(SEGMENTS)).toBe(
      '1\n00:00:00,000 --> 00:00:01,500\nHello\n\n2\n01:01:01,000 --> 01:01:03,000\nthere\n',
    );
  });

  it('have a header and points in WebVTT', () => {
    expect(toVtt(SEGMENTS)).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello\n\n01:01:01.000 --> 01:01:03.000\nthere\n',
    );
  });
});
