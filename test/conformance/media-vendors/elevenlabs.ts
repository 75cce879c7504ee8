/** ElevenLabs: https://elevenlabs.io/docs/api-reference and `…/docs/eleven-api/resources/errors`. */
import type { Answer } from '../fake-upstream';
import { json, speech } from '../media-answers';
import { speechRequest, transcriptionRequest } from '../media-requests';
import { type MediaWire, NOT_JSON } from '../media-uses';

const TRANSCRIPT = {
  language_code: 'eng',
  language_probability: 0.98,
  text: 'Hello there. Bye',
  words: [
    { text: 'Hello', start: 0.1, end: 0.5, type: 'word', logprob: -0.1 },
    { text: ' ', start: 0.5, end: 0.6, type: 'spacing', logprob: 0 },
    { text: 'there.', start: 0.6, end: 1.2, type: 'word', logprob: -0.1 },
    { text: ' ', start: 1.2, end: 1.3, type: 'spacing', logprob: 0 },
    { text: 'Bye', start: 1.3, end: 1.6, type: 'word', logprob: -0.1 },
  ],
  audio_duration_secs: 2.5,
};

function refusal(status: number, code: string, message: string, type = 'validation_error'): Answer {
  return json({ detail: { type, code, message, status: code, request_id: 'b47c' } }, status);
}

export const ELEVENLABS_MEDIA: MediaWire = {
  uses: [
    {
      name: 'transcripts',
      capability: 'transcription',
      targets: ['/v1/speech-to-text'],
      happy: json(TRANSCRIPT),
      delivers: {
        text: 'Hello there. Bye',
        language: 'eng',
        segments: [
          { id: 0, start: 0.1, end: 1.2, text: 'Hello there.' },
          { id: 1, start: 1.3, end: 1.6, text: 'Bye' },
        ],
        words: [
          { word: 'Hello', start: 0.1, end: 0.5 },
          { word: 'there.', start: 0.6, end: 1.2 },
          { word: 'Bye', start: 1.3, end: 1.6 },
        ],
        reportedSeconds: 2.5,
      },
      broken: {
        ...NOT_JSON,
        'no words': json({ ...TRANSCRIPT, words: undefined }),
        'words without times': json({ ...TRANSCRIPT, words: [{ text: 'Hello', type: 'word' }] }),
        'an accepted webhook': json({ message: 'Request accepted', request_id: 'b47c' }, 202),
      },
      run: ({ transcription }, call) =>
        transcription?.transcribe(transcriptionRequest({ timestamps: ['segment', 'word'] }), call),
    },
    {
      name: 'speech',
      capability: 'speech',
      targets: ['/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream?output_format=mp3_44100_128'],
      happy: (response) =>
        response.writeHead(200, { 'content-type': 'audio/mpeg', 'character-cost': '12' }).end('ID3 sound'),
      delivers: { progress: { audioBytes: 9, usage: { units: 12 } } },
      broken: {
        'no sound': speech(''),
        'another format': speech('OggS'),
        'a text': speech('hello', 'text/plain'),
        JSON: json('{}'),
      },
      run: ({ speech: speaking }, call) => speaking?.speak(speechRequest({ voice: 'JBFqnCBsd6RMkjVDRZzb' }), call),
    },
  ],
  invalid: refusal(400, 'invalid_parameters', 'The audio is corrupted.'),
  moderated: refusal(403, 'content_against_policy', 'The text may violate our Terms of Service.', 'forbidden'),
  keyRefused: refusal(401, 'invalid_api_key', 'Invalid API key', 'authentication_error'),
  leaking: (message) => refusal(422, 'invalid_parameters', message),
};
