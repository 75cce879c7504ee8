import * as fc from 'fast-check';
import { inputTokensOf, outputTokensOf } from '../../contract/usage';
import { toUsage } from './usage';

const modality = (name: string, tokenCount: number) => ({ modality: name, tokenCount });

describe('toUsage', () => {
  it.each([
    ['text', { promptTokenCount: 10, candidatesTokenCount: 4 }, { inputText: 10, outputText: 4 }],
    [
      'thoughts, which candidates exclude',
      { promptTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: 100 },
      { inputText: 10, outputText: 4, outputReasoning: 100 },
    ],
    [
      'cached tokens, which the prompt includes',
      { promptTokenCount: 5_000, cachedContentTokenCount: 4_096, candidatesTokenCount: 1 },
      { inputText: 904, inputCacheRead: 4_096, outputText: 1 },
    ],
    [
      'results of tools, which the prompt excludes',
      { promptTokenCount: 10, toolUsePromptTokenCount: 7, candidatesTokenCount: 1 },
      { inputText: 17, outputText: 1 },
    ],
    [
      'images and recordings, some of them cached',
      {
        promptTokenCount: 1_000,
        cachedContentTokenCount: 300,
        promptTokensDetails: [modality('TEXT', 100), modality('IMAGE', 600), modality('AUDIO', 300)],
        cacheTokensDetails: [modality('IMAGE', 250), modality('TEXT', 50)],
      },
      { inputText: 50, inputCacheRead: 300, inputImage: 350, inputAudio: 300 },
    ],
    [
      'images and speech of the answer',
      {
        promptTokenCount: 1,
        candidatesTokenCount: 1_300,
        candidatesTokensDetails: [modality('IMAGE', 1_120), modality('AUDIO', 100)],
      },
      { inputText: 1, outputText: 80, outputImage: 1_120, outputAudio: 100 },
    ],
    [
      'video and documents as text',
      { promptTokenCount: 9, promptTokensDetails: [modality('VIDEO', 9)] },
      { inputText: 9 },
    ],
    [
      'details beyond the total, cut',
      { promptTokenCount: 5, promptTokensDetails: [modality('AUDIO', 9)] },
      { inputAudio: 5 },
    ],
    ['only the kind of traffic: unknown', { trafficType: 'ON_DEMAND' }, null],
    ['a negative prompt: unknown', { promptTokenCount: -1 }, null],
    ['text: unknown', 'ten', null],
  ])('converts %s', (_name, metadata, expected) => {
    const usage = toUsage(metadata);
    const counted = usage && Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== 0));
    expect(counted).toEqual(expected);
  });

  it('always adds up to the total that the upstream states', () => {
    const count = fc.nat(100_000);
    const metadata = fc.record({
      prompt: count,
      cached: count,
      candidates: count,
      thoughtsTokenCount: count,
      toolUsePromptTokenCount: count,
      promptTokensDetails: fc.array(
        fc.record({ modality: fc.constantFrom('TEXT', 'IMAGE', 'AUDIO'), tokenCount: count }),
      ),
      cacheTokensDetails: fc.array(fc.record({ modality: fc.constantFrom('IMAGE', 'AUDIO'), tokenCount: count })),
      candidatesTokensDetails: fc.array(fc.record({ modality: fc.constantFrom('IMAGE', 'AUDIO'), tokenCount: count })),
    });
    fc.assert(
      fc.property(metadata, ({ prompt, cached, candidates, ...rest }) => {
        const usage = toUsage({
          promptTokenCount: prompt,
          cachedContentTokenCount: cached,
          candidatesTokenCount: candidates,
          ...rest,
        });
        if (usage === null) throw new Error('expected usage');
        expect(inputTokensOf(usage)).toBe(prompt + rest.toolUsePromptTokenCount);
        expect(outputTokensOf(usage)).toBe(candidates + rest.thoughtsTokenCount);
        expect(Object.values(usage).every((each: number) => each >= 0)).toBe(true);
      }),
    );
  });
});
