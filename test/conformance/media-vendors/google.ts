/** Gemini: https://ai.google.dev/gemini-api/docs/image-generation. */
import type { Answer } from '../fake-upstream';
import { eventStream, json, tinyPng } from '../media-answers';
import { imageRequest, speechRequest, transcriptionRequest } from '../media-requests';
import { type MediaWire, NOT_JSON, PNG } from '../media-uses';

const SKETCH = { inlineData: { mimeType: 'image/png', data: tinyPng(7).toString('base64') }, thought: true };
const DRAWN = { inlineData: { mimeType: 'image/png', data: tinyPng().toString('base64') }, thoughtSignature: 'c2ln' };
const USAGE = {
  promptTokenCount: 12,
  candidatesTokenCount: 1120,
  thoughtsTokenCount: 80,
  totalTokenCount: 1212,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
};

function drawn(parts: readonly object[], finishReason = 'STOP'): Answer {
  return json({ candidates: [{ content: { role: 'model', parts }, finishReason }], usageMetadata: USAGE });
}

function refusal(status: number, name: string, message: string, reason = ''): Answer {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }];
  return json({ error: { code: status, message, status: name, details } }, status);
}

function spoken(text: string): object {
  const data = Buffer.from(text).toString('base64');
  return { content: { parts: [{ inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data } }] } };
}

function written(text: string, finishReason: string | null = 'STOP'): Answer {
  const content = { role: 'model', parts: [{ text: 'Hm.', thought: true }, { text }] };
  const usage = { ...USAGE, promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 12 }], candidatesTokensDetails: [] };
  return json({ candidates: [{ content, finishReason }], usageMetadata: usage });
}

const GENERATE = ['/v1beta/models/upstream-model:generateContent'];
const HAPPY = {
  targets: GENERATE,
  happy: drawn([SKETCH, DRAWN]),
  delivers: {
    images: [{ bytes: tinyPng(), revisedPrompt: null }],
    usage: { inputText: 12, outputImage: 1120, outputReasoning: 80, images: 1 },
  },
  broken: {
    ...NOT_JSON,
    'no candidates': json({ candidates: [] }),
    'a text': drawn([{ text: 'I would rather not.' }]),
    'a sketch': drawn([SKETCH]),
    'no image': drawn([], 'NO_IMAGE'),
    'wrong base64': drawn([{ inlineData: { mimeType: 'image/png', data: '????' } }]),
    'something other than an image': drawn([{ inlineData: { mimeType: 'image/png', data: 'YSB0ZXh0' } }]),
  },
} as const;

/** As the whole of a reply, or as the only event of a stream. */
const blocked: Answer = (response, request) => {
  const feedback = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } };
  (request.url.includes('alt=sse') ? eventStream(feedback) : json(feedback))(response, request);
};

export const GOOGLE_MEDIA: MediaWire = {
  uses: [
    {
      ...HAPPY,
      name: 'images',
      capability: 'images',
      run: ({ images }, call) => images?.generate(imageRequest(), call),
    },
    {
      ...HAPPY,
      name: 'edits',
      capability: 'images',
      run: ({ images }, call) => images?.generate(imageRequest({ images: [PNG] }), call),
    },
    {
      name: 'speech',
      capability: 'speech',
      targets: ['/v1beta/models/upstream-model:streamGenerateContent?alt=sse'],
      happy: eventStream({ candidates: [{ ...spoken('sound'), finishReason: 'STOP' }], usageMetadata: USAGE }),
      delivers: { progress: { audioBytes: 5, usage: { inputText: 12 } } },
      broken: {
        'no end': eventStream(),
        'no sound': eventStream({ candidates: [{ finishReason: 'STOP' }] }),
        'broken JSON': eventStream('{"candidates":'),
        JSON: json('{}'),
      },
      run: ({ speech }, call) => speech?.speak(speechRequest({ voice: 'Kore', format: 'pcm' }), call),
    },
    {
      name: 'transcripts',
      capability: 'transcription',
      targets: GENERATE,
      happy: written('Hello there. Bye\n'),
      delivers: { text: 'Hello there. Bye', usage: { inputAudio: 12, outputText: 1120, outputReasoning: 80 } },
      broken: {
        ...NOT_JSON,
        'no candidates': json({ candidates: [] }),
        'a transcript that was cut off': written('Hello', 'MAX_TOKENS'),
        'no end': written('Hello', null),
      },
      run: ({ transcription }, call) => transcription?.transcribe(transcriptionRequest(), call),
    },
  ],
  invalid: refusal(400, 'INVALID_ARGUMENT', 'Invalid value.'),
  moderated: blocked,
  keyRefused: refusal(400, 'INVALID_ARGUMENT', 'API key not valid.', 'API_KEY_INVALID'),
  leaking: (message) => refusal(400, 'INVALID_ARGUMENT', message),
};
