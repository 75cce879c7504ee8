import { CollectingSink, providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { ScriptedTransport } from '../../../test/conformance/scripted-transport';
import type { ChatStreamState } from './upstream-stream';
import { UpstreamStream } from './upstream-stream';

/** Every event is a piece of text; `"end"` is the finish reason. `finish` takes until the test completes it. */
function start(): {
  upstream: ScriptedTransport;
  opened: Promise<UpstreamStream<string>>;
  finish: jest.Mock;
  complete(): void;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = jest.fn(() => promise);
  const translate = (event: Buffer, state: ChatStreamState): string => {
    const { text } = JSON.parse(event.toString()) as { text: string };
    state.started = true;
    if (text === 'end') state.finishReason = 'stop';
    return text;
  };
  const upstream = new ScriptedTransport();
  const opened = UpstreamStream.openStream<string>(
    { http: upstream, endpoint: '/', body: '', call: providerCall() },
    {
      translatorFor: (_call, state) => ({ translate: (event) => translate(event, state), finish }),
      join: (texts) => texts.join(''),
    },
  );
  return { upstream, opened, finish, complete: resolve };
}

const event = (text: string): string => `data: ${JSON.stringify({ text })}\n\n`;

it('passes on all output, then waits for the translator to finish before it ends', async () => {
  const { upstream, opened, finish, complete } = start();
  upstream.begin().data(event('one')).data(event('end')).end();
  const sink = new CollectingSink();
  let ended = false;
  const piped = (await opened).pipe(sink).then(() => (ended = true));
  await Promise.resolve();
  expect([sink.writes.join(''), finish.mock.calls.length, ended]).toEqual(['oneend', 1, false]);
  complete();
  await piped;
  expect(finish).toHaveBeenCalledTimes(1);
});

it('fails only its own stream when its sink throws', async () => {
  const { upstream, opened } = start();
  upstream.begin().data(event('one'));
  const failure = new Error('cannot be rendered');
  const write = jest
    .fn()
    .mockReturnValueOnce(true)
    .mockImplementation(() => {
      throw failure;
    });
  const piped = (await opened).pipe({ write, drained: () => Promise.resolve() });
  upstream.data(event('two'));
  await expect(piped).rejects.toBe(failure);
  expect(upstream.aborted).toBe(true);
});

it('does not finish the translator of an interrupted answer', async () => {
  const { upstream, opened, finish } = start();
  upstream.begin().data(event('one')).end();
  expect((await providerErrorOf((await opened).pipe(new CollectingSink()))).code).toBe('provider_disconnect');
  expect(finish).not.toHaveBeenCalled();
});
