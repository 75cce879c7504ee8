/** Deepgram: https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded and `…/docs/errors`. */
import type { Answer } from '../fake-upstream';
import { json, speech } from '../media-answers';
import { speechRequest, transcriptionRequest } from '../media-requests';
import { type MediaWire, NOT_JSON } from '../media-uses';

const WORDS = [
  { word: 'hello', punctuated_word: 'Hello', start: 0.08, end: 0.5, confidence: 0.99 },
  { word: 'there', punctuated_word: 'there.', start: 0.5, end: 1.2, confidence: 0.98 },
];
const LISTENED = {
  metadata: { request_id: '65fb3d43', duration: 1.5, channels: 1 },
  results: {
    channels: [
      { detected_language: 'en', alternatives: [{ transcript: 'Hello there.', confidence: 0.99, words: WORDS }] },
    ],
    utterances: [{ start: 0.08, end: 1.2, confidence: 0.99, channel: 0, transcript: 'Hello there.', words: WORDS }],
  },
};

function refusal(status: number, code: string, message: string): Answer {
  return json({ err_code: code, err_msg: message, request_id: '65fb3d43' }, status);
}

export const DEEPGRAM_MEDIA: MediaWire = {
  uses: [
    {
      name: 'transcripts',
      capability: 'transcription',
      targets: ['/v1/listen?model=upstream-model&smart_format=true&detect_language=true&utterances=true'],
      happy: json(LISTENED),
      delivers: {
        text: 'Hello there.',
        language: 'en',
        segments: [{ id: 0, start: 0.08, end: 1.2, text: 'Hello there.' }],
        words: [
          { word: 'Hello', start: 0.08, end: 0.5 },
          { word: 'there.', start: 0.5, end: 1.2 },
        ],
        reportedSeconds: 1.5,
      },
      broken: {
        ...NOT_JSON,
        'no channels': json({ metadata: LISTENED.metadata, results: { channels: [] } }),
        'no utterances': json({ ...LISTENED, results: { channels: LISTENED.results.channels } }),
        'a callback': json({ request_id: '65fb3d43' }),
      },
      run: ({ transcription }, call) =>
        transcription?.transcribe(transcriptionRequest({ timestamps: ['segment', 'word'] }), call),
    },
    {
      name: 'speech',
      capability: 'speech',
      targets: ['/v1/speak?model=upstream-model-thalia-en&encoding=mp3'],
      happy: (response) =>
        response.writeHead(200, { 'content-type': 'audio/mpeg', 'dg-char-count': '12' }).end('ID3 sound'),
      delivers: { progress: { audioBytes: 9, usage: { characters: 12 } } },
      broken: {
        'no sound': speech(''),
        'another format': speech('OggS'),
        'a text': speech('hello', 'text/plain'),
        JSON: json('{}'),
      },
      run: ({ speech: speaking }, call) => speaking?.speak(speechRequest({ voice: 'thalia-en' }), call),
    },
  ],
  invalid: refusal(400, 'Bad Request', 'Bad Request: failed to process audio: corrupt or unsupported data'),
  keyRefused: refusal(401, 'INVALID_AUTH', 'Invalid credentials.'),
  leaking: (message) => refusal(400, 'Bad Request', message),
};
