import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';
import { create, credit } from './key-actions';

let gateway: TestGateway;
let developer: DashboardClient;
let unrestricted: string;

beforeAll(async () => {
  gateway = await TestGateway.start({ MOCK_MEDIA_PROVIDER: 'true' });
  developer = await gateway.dashboardUser({ role: 'developer' });
  await credit(gateway, developer);
  unrestricted = (await create(developer)).key;
});

afterAll(() => gateway.stop());

async function listedModels(key: string, query = ''): Promise<{ id: string; modality: string }[]> {
  const { json } = await gateway.call(`/v1/models${query}`, { key });
  return json.data;
}

/** Status and error code of one request per synchronous modality. */
async function outcomes(key: string): Promise<Record<string, string>> {
  const audio = new FormData();
  audio.set('model', 'mock/transcribe-1');
  audio.set('file', new Blob(['not audio']), 'speech.wav');
  const requests: Record<string, [path: string, body: unknown]> = {
    text: ['/v1/chat/completions', { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] }],
    embedding: ['/v1/embeddings', { model: 'mock/embed-1', input: 'Hello' }],
    speech: ['/v1/audio/speech', { model: 'mock/speech-1', input: 'Hello', voice: 'alloy' }],
    transcription: ['/v1/audio/transcriptions', audio],
  };
  const found: Record<string, string> = {};
  for (const [modality, [path, body]] of Object.entries(requests)) {
    const reply = await gateway.call(path, { key, body });
    found[modality] = reply.json?.error?.code ?? String(reply.status);
  }
  return found;
}

const refused = 'modality_not_allowed';

it.each<[string, string[], Record<string, string>]>([
  ['text', ['text', 'embedding'], { text: '200', embedding: '200', speech: refused, transcription: refused }],
  ['embedding', ['embedding'], { text: refused, embedding: '200', speech: refused, transcription: refused }],
  [
    'audio',
    ['speech', 'transcription'],
    { text: refused, embedding: refused, speech: '200', transcription: 'validation_failed' },
  ],
  ['speech', ['speech'], { text: refused, embedding: refused, speech: '200', transcription: refused }],
  [
    'transcription',
    ['transcription'],
    { text: refused, embedding: refused, speech: refused, transcription: 'validation_failed' },
  ],
  ['image', ['image'], { text: refused, embedding: refused, speech: refused, transcription: refused }],
  ['video', ['video'], { text: refused, embedding: refused, speech: refused, transcription: refused }],
  ['music', ['music'], { text: refused, embedding: refused, speech: refused, transcription: refused }],
])('a key limited to %s lists and calls the models of %j', async (group, modalities, expected) => {
  const { key, json } = await create(developer, { allowed_modalities: [group] });
  expect(json.api_key.allowed_modalities).toEqual([group]);
  const listed = await listedModels(key);
  expect([...new Set(listed.map(({ modality }) => modality))].toSorted()).toEqual(modalities.toSorted());
  expect(await listedModels(unrestricted, `?modality=${group}`)).toEqual(listed);
  expect(await outcomes(key)).toEqual(expected);
});
