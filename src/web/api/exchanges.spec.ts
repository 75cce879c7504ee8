import { keepExchange, keptExchange } from './exchanges';
import { announceSignIn } from './sign-in';

function reply(id: string, body: BodyInit, type: string, status = 200): Response {
  return new Response(body, { status, headers: { 'x-request-id': id, 'content-type': type } });
}

/** The kept reply, once everything that has arrived is read. */
async function replyOf(id: string): Promise<unknown> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
  return keptExchange(id)?.reply;
}

describe('kept exchanges', () => {
  beforeEach(announceSignIn);

  it('have the request and the reply of each id, and leave the reply to its reader', async () => {
    const response = reply('req_1', '{"error":{"code":"model_not_found"}}', 'application/json', 404);
    keepExchange('/v1/chat/completions', { model: 'none' }, response);
    expect(await replyOf('req_1')).toEqual({ error: { code: 'model_not_found' } });
    expect(keptExchange('req_1')).toMatchObject({
      path: '/v1/chat/completions',
      request: { model: 'none' },
      status: 404,
    });
    expect(await response.json()).toEqual({ error: { code: 'model_not_found' } });
  });

  it('have the events of a stream, also when it is cut off', async () => {
    const stream = new TransformStream<Uint8Array, Uint8Array>();
    const writer = stream.writable.getWriter();
    const response = reply('req_2', stream.readable, 'text/event-stream; charset=utf-8');
    keepExchange('/v1/chat/completions', {}, response);
    const text = response.text();
    await writer.write(new TextEncoder().encode('data: {"n":1}\n\ndata: {"n":2}\n\n'));
    expect(await replyOf('req_2')).toEqual([{ n: 1 }, { n: 2 }]);
    await Promise.all([writer.abort(new Error('cut off')), expect(text).rejects.toThrow('cut off')]);
    expect(await replyOf('req_2')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('describe files, and shorten long texts', async () => {
    const form = new FormData();
    form.append('file', new File(['abc'], 'fox.mp3', { type: 'audio/mpeg' }));
    form.append('model', 'mock/whisper-1');
    const long = 'x'.repeat(25_000);
    keepExchange('/v1/x', form, reply('req_3', JSON.stringify({ data: [{ b64_json: long }] }), 'application/json'));
    expect(await replyOf('req_3')).toEqual({ data: [{ b64_json: `${'x'.repeat(200)}… (25000 characters)` }] });
    expect(keptExchange('req_3')?.request).toEqual({
      file: { file: 'fox.mp3', content_type: 'audio/mpeg', bytes: 3 },
      model: 'mock/whisper-1',
    });
    keepExchange('/v1/audio/speech', {}, reply('req_4', 'sound', 'audio/mpeg'));
    expect(await replyOf('req_4')).toEqual({ content_type: 'audio/mpeg' });
  });

  it('are the newest fifty, and none after another user has signed in', async () => {
    for (let index = 0; index < 51; index++) {
      keepExchange('/v1/x', {}, reply(`req_${index}`, '{}', 'application/json'));
    }
    expect(await replyOf('req_0')).toBeUndefined();
    expect([0, 1, 50].map((index) => keptExchange(`req_${index}`) !== undefined)).toEqual([false, true, true]);
    announceSignIn();
    expect(keptExchange('req_50')).toBeUndefined();
  });
});
