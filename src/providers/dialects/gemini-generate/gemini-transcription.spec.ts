import { transcriptionRequest } from '../../../../test/conformance/media-requests';
import { toTranscriptionBody } from './gemini-transcription';

describe('a transcription by Gemini', () => {
  it('sends the recording unchanged, with the language and the prompt as hints', () => {
    const request = transcriptionRequest({ language: 'de', prompt: 'Anna Meyer', temperature: 0.2 });
    expect(toTranscriptionBody(request)).toEqual({
      systemInstruction: { parts: [{ text: expect.stringMatching(/The language is de\.\n.*Anna Meyer$/s) as string }] },
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'audio/wav', data: request.audio.toString('base64') } }] },
      ],
      generationConfig: { thinkingConfig: { thinkingLevel: 'MINIMAL' }, temperature: 0.2 },
    });
  });

  it('accepts a file of 25 MiB, the usual limit of forms', () => {
    expect(() => toTranscriptionBody(transcriptionRequest({ audio: Buffer.alloc(25 * 1024 * 1024) }))).not.toThrow();
  });

  it.each([
    ['timestamp_granularities', { timestamps: ['segment'] }],
    ['timestamp_granularities', { timestamps: ['word'] }],
    ['file', { contentType: 'audio/mp4' }],
    ['file', { audio: Buffer.alloc(70_000_001) }],
  ] as const)('is refused before the call for an unsupported %s', (param, option) => {
    expect(() => toTranscriptionBody(transcriptionRequest(option))).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param, phase: 'connect' }) }),
    );
  });
});
