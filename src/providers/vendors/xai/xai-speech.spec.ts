import { speechRequest } from '../../../../test/conformance/media-requests';
import { toXaiSpeech } from './xai-speech';

describe('toXaiSpeech', () => {
  it('sends the codec, and a speed that the model supports', () => {
    expect(toXaiSpeech(speechRequest({ voice: 'eve', format: 'wav', speed: 1.5 }))).toEqual({
      text: 'Hello there.',
      voice_id: 'eve',
      language: 'auto',
      output_format: { codec: 'wav', sample_rate: 24_000 },
      speed: 1.5,
    });
  });

  it.each([
    ['response_format', { format: 'opus' }],
    ['speed', { speed: 2 }],
    ['instructions', { instructions: 'Whisper.' }],
  ] as const)('refuses another %s before the call', (param, option) => {
    expect(() => toXaiSpeech(speechRequest(option))).toThrow(
      expect.objectContaining({ options: expect.objectContaining({ param, phase: 'connect' }) }),
    );
  });
});
