/** AssemblyAI: https://www.assemblyai.com/docs/api-reference. Its refusals have no code. */
import type { Answer } from '../fake-upstream';
import { json } from '../media-answers';
import { transcriptionRequest } from '../media-requests';
import { type MediaWire, NOT_JSON } from '../media-uses';

const COMPLETED = {
  id: 't-1',
  status: 'completed',
  text: 'Hello there. Bye',
  language_code: 'en',
  audio_duration: 2,
  words: [
    { text: 'Hello', start: 100, end: 500, confidence: 0.9, speaker: null },
    { text: 'there.', start: 600, end: 1200, confidence: 0.9, speaker: null },
    { text: 'Bye', start: 1300, end: 1600, confidence: 0.9, speaker: null },
  ],
};

/** Accepts a file and a transcript, and answers a poll with `polled`. */
function accepting(polled: object): Answer {
  return (response, request) => {
    const bodies: Record<string, object> = {
      '/v1/upload': { upload_url: 'https://cdn.assemblyai.com/upload/1' },
      '/v1/transcript': { id: 't-1', status: 'queued' },
    };
    json(bodies[request.url] ?? polled)(response, request);
  };
}

export const ASSEMBLYAI_MEDIA: MediaWire = {
  uses: [
    {
      name: 'transcripts',
      capability: 'transcription',
      targets: ['/v1/upload', '/v1/transcript', '/v1/transcript/t-1'],
      happy: accepting(COMPLETED),
      delivers: {
        text: 'Hello there. Bye',
        language: 'en',
        segments: [
          { id: 0, start: 0.1, end: 1.2, text: 'Hello there.' },
          { id: 1, start: 1.3, end: 1.6, text: 'Bye' },
        ],
        words: [
          { word: 'Hello', start: 0.1, end: 0.5 },
          { word: 'there.', start: 0.6, end: 1.2 },
          { word: 'Bye', start: 1.3, end: 1.6 },
        ],
        reportedSeconds: 2,
      },
      broken: {
        ...NOT_JSON,
        'no address of the file': json({}),
        'no words': accepting({ ...COMPLETED, words: null }),
        'no text': accepting({ ...COMPLETED, text: null }),
        'a failed transcript': accepting({ id: 't-1', status: 'error', error: 'Internal server error' }),
      },
      run: ({ transcription }, call) =>
        transcription?.transcribe(transcriptionRequest({ timestamps: ['segment', 'word'] }), call),
    },
  ],
  keyRefused: json({ error: 'Authentication error, API token missing/invalid' }, 401),
};
