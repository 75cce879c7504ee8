/** Voxtral: https://docs.mistral.ai/api/endpoint/audio/transcriptions. */
import { json } from '../media-answers';
import { transcriptionRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, OPENAI_MEDIA } from '../media-uses';

const TRANSCRIPT = {
  model: 'voxtral-mini-transcribe-3-0',
  text: 'Hello there. Bye',
  language: 'en',
  segments: [
    { type: 'transcription_segment', text: 'Hello there.', start: 0.1, end: 1.2 },
    { type: 'transcription_segment', text: 'Bye', start: 1.3, end: 1.6 },
  ],
  usage: { prompt_audio_seconds: 2, prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 },
};

export const MISTRAL_MEDIA: MediaWire = {
  ...OPENAI_MEDIA,
  uses: [
    {
      name: 'transcripts',
      capability: 'transcription',
      targets: ['/v1/audio/transcriptions'],
      happy: json(TRANSCRIPT),
      delivers: {
        text: 'Hello there. Bye',
        language: 'en',
        segments: [
          { id: 0, start: 0.1, end: 1.2, text: 'Hello there.' },
          { id: 1, start: 1.3, end: 1.6, text: 'Bye' },
        ],
        words: null,
        reportedSeconds: 2,
      },
      broken: {
        ...NOT_JSON,
        'no text': json({ ...TRANSCRIPT, text: null }),
        'no segments': json({ ...TRANSCRIPT, segments: [] }),
        'segments without times': json({ ...TRANSCRIPT, segments: [{ text: 'Hello there. Bye' }] }),
      },
      run: ({ transcription }, call) =>
        transcription?.transcribe(transcriptionRequest({ timestamps: ['segment'] }), call),
    },
  ],
};
