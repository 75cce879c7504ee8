import { NO_USAGE } from '../../contract/usage';
import { toImageUsage, toTranscriptSeconds, toTranscriptUsage } from './media-usage';

describe('toImageUsage', () => {
  it.each([
    [
      { input_tokens: 50, output_tokens: 200, input_tokens_details: { text_tokens: 10, image_tokens: 40 } },
      { inputText: 10, inputImage: 40, outputImage: 200 },
    ],
    [
      { input_tokens: 5, output_tokens: 9, output_tokens_details: { image_tokens: 6, text_tokens: 3 } },
      { inputText: 5, outputText: 3, outputImage: 6 },
    ],
    [
      { input_tokens: 5, output_tokens: 9 },
      { inputText: 5, outputImage: 9 },
    ],
    [
      { input_tokens: 5, output_tokens: 9, input_tokens_details: { image_tokens: 70 } },
      { inputImage: 5, outputImage: 9 },
    ],
    [
      { input_tokens: 5, output_tokens: 9, input_tokens_details: { image_tokens: -7 } },
      { inputText: 5, outputImage: 9 },
    ],
  ])('splits %j into classes that sum to its totals', (usage, expected) => {
    expect(toImageUsage(usage)).toEqual({ ...NO_USAGE, ...expected });
  });

  it.each([
    [undefined],
    [null],
    [{}],
    [{ input_tokens: 5 }],
    [{ input_tokens: '5', output_tokens: 1 }],
    [{ input_tokens: -1, output_tokens: 1 }],
  ])('ignores implausible usage %j', (usage) => expect(toImageUsage(usage)).toBeNull());
});

describe('toTranscriptUsage', () => {
  it('counts tokens without details as audio, which costs more', () => {
    const usage = { type: 'tokens', input_tokens: 14, output_tokens: 6 };
    const details = { text_tokens: 4, audio_tokens: 10 };
    expect(toTranscriptUsage({ ...usage, input_token_details: details })).toEqual({
      ...NO_USAGE,
      inputText: 4,
      inputAudio: 10,
      outputText: 6,
    });
    expect(toTranscriptUsage(usage)).toMatchObject({ inputText: 0, inputAudio: 14 });
  });

  it('reports seconds separately: from the duration of the reply, else from its usage', () => {
    expect(toTranscriptUsage({ type: 'duration', seconds: 9 })).toBeNull();
    expect(toTranscriptSeconds(8.4, { type: 'duration', seconds: 9 })).toBe(8.4);
    expect(toTranscriptSeconds('8.4', undefined)).toBe(8.4);
    expect(toTranscriptSeconds(undefined, { type: 'duration', seconds: 9 })).toBe(9);
    for (const value of [0, -1, Infinity, 'long', null]) expect(toTranscriptSeconds(value, { seconds: 9 })).toBeNull();
  });
});
