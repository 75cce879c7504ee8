import type { PaidOperation, Model } from '../../../contract/dashboard';

interface OperationFacts {
  readonly label: string;
  readonly path: string;
  /** Modality of the models that serve it. */
  readonly modality: Model['modality'];
  /** Fields of an example besides the model. */
  readonly fields: Readonly<Record<string, unknown>>;
}

const MESSAGE = 'Hello';

export const OPERATION_FACTS: Readonly<Record<PaidOperation, OperationFacts>> = {
  createChatCompletion: {
    label: 'Chat completion',
    path: '/v1/chat/completions',
    modality: 'text',
    fields: { messages: [{ role: 'user', content: MESSAGE }], max_tokens: 200 },
  },
  createCompletion: {
    label: 'Completion',
    path: '/v1/completions',
    modality: 'text',
    fields: { prompt: MESSAGE, max_tokens: 200 },
  },
  createResponse: {
    label: 'Response',
    path: '/v1/responses',
    modality: 'text',
    fields: { input: MESSAGE, max_output_tokens: 200 },
  },
  createEmbedding: { label: 'Embedding', path: '/v1/embeddings', modality: 'embedding', fields: { input: MESSAGE } },
  createImage: {
    label: 'Image',
    path: '/v1/images/generations',
    modality: 'image',
    fields: { prompt: 'A boat at sea', n: 1 },
  },
  createImageEdit: {
    label: 'Image edit',
    path: '/v1/images/edits',
    modality: 'image',
    fields: { prompt: 'Make it night', input_images: ['https://example.com/boat.png'] },
  },
  createSpeech: {
    label: 'Speech',
    path: '/v1/audio/speech',
    modality: 'speech',
    fields: { input: MESSAGE, voice: 'alloy' },
  },
  createTranscription: {
    label: 'Transcription',
    path: '/v1/audio/transcriptions',
    modality: 'transcription',
    fields: { duration_seconds: 60 },
  },
  createVideo: {
    label: 'Video',
    path: '/v1/video/generations',
    modality: 'video',
    fields: { prompt: 'A boat at sea', duration_seconds: 5 },
  },
  createMusic: {
    label: 'Music',
    path: '/v1/music/generations',
    modality: 'music',
    fields: { prompt: 'A slow waltz', duration_seconds: 30 },
  },
};

interface ModelChoice {
  readonly id: string;
  readonly modality: string;
}

/** A body to begin with, for the wanted model or one that is served. */
export function exampleBody(operation: PaidOperation, models: readonly ModelChoice[], wanted?: string): string {
  const { modality, fields } = OPERATION_FACTS[operation];
  const model = wanted ?? models.find((each) => each.modality === modality)?.id ?? 'vendor/model';
  return JSON.stringify({ model, ...fields }, null, 2);
}

/** The command that sends the body; the key stays a variable. */
export function curlOf(operation: PaidOperation, body: string): string {
  const { path } = OPERATION_FACTS[operation];
  const url = `${window.location.origin}${path}`;
  if (operation === 'createTranscription') {
    return [`curl ${url}`, '  -H "Authorization: Bearer $KEY"', ...formOf(body)].join(' \\\n');
  }
  const isJob = operation === 'createVideo' || operation === 'createMusic';
  return [
    `curl ${url}`,
    '  -H "Authorization: Bearer $KEY"',
    '  -H "Content-Type: application/json"',
    ...(isJob ? ['  -H "Idempotency-Key: $(date +%s)"'] : []),
    `  -d ${quoted(body)}`,
  ].join(' \\\n');
}

/** Fields of a form, with the file in place of its length. */
function formOf(body: string): readonly string[] {
  const fields = Object.entries(JSON.parse(body) as Record<string, unknown>);
  const parts = fields
    .filter(([name]) => name !== 'duration_seconds')
    .map(([name, value]) => `  -F ${quoted(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)}`);
  return ['  -F file=@audio.mp3', ...parts];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
