import { samplesOf, type SampledRequest } from './code-samples';

const ORIGIN = 'https://gateway.example';

const codeOf = (request: SampledRequest): readonly string[] => samplesOf(request, ORIGIN).map(({ code }) => code);

describe('the code of a request', () => {
  it('sends the same body in every language', () => {
    const body = { model: 'mock/chat-1', stream: true, messages: [{ role: 'user', content: "it's" }] };
    const [curl, python, typeScript] = codeOf({ path: '/v1/chat/completions', body, sdk: 'chat.completions.create' });
    expect(curl).toContain(`curl ${ORIGIN}/v1/chat/completions`);
    expect(curl).toContain(String.raw`"content": "it'\''s"`);
    expect(python).toContain('stream=True,');
    expect(python).toContain(`client.chat.completions.create(`);
    expect(typeScript).toContain(`messages: [{"role":"user","content":"it's"}],`);
  });

  it('uploads a file as a form', () => {
    const [curl, python] = codeOf({
      path: '/v1/audio/transcriptions',
      body: { model: 'a/b', timestamp_granularities: ['segment'] },
      file: { field: 'file', name: 'my talk.mp3' },
      sdk: 'audio.transcriptions.create',
    });
    expect(curl).toContain(`-F file=@'my talk.mp3'`);
    expect(curl).toContain('-F timestamp_granularities[]=segment');
    expect(python).toContain('file=open("my talk.mp3", "rb"),');
  });

  it('has an idempotency key where the operation needs one', () => {
    for (const code of codeOf({ path: '/v1/video/generations', body: { model: 'a/b' }, needsIdempotencyKey: true })) {
      expect(code).toContain('Idempotency-Key');
    }
  });
});
