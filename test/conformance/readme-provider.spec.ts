import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/core';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { ProviderRegistry } from '../../src/providers/provider-registry';
import { FakeUpstream } from './fake-upstream';
import { chatRequest, providerCall } from './provider-call';

const README = join(__dirname, '../../src/providers/README.md');
/** Where the README says that the module goes; imports are relative to it. */
const FOLDER = join(dirname(README), 'vendors/example');

/** The module in the README, as it is written there. */
function exampleIn(readme: string): string {
  const block = /```ts\n(?<code>.*?)```/s.exec(readme.slice(readme.indexOf('## Adding a provider')));
  if (block?.groups?.['code'] === undefined) throw new Error('the README has no example of a provider');
  return block.groups['code'];
}

/** The exports of TypeScript code in that folder. */
function load(code: string): Readonly<Record<string, unknown>> {
  const { code: script } = transformSync(code, {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      target: 'es2023',
    },
    module: { type: 'commonjs' },
  });
  const exported: Record<string, unknown> = {};
  const importFrom = (path: string): unknown =>
    path.startsWith('.') ? require(join(FOLDER, path)) : createRequire(__filename)(path);
  new Function('require', 'exports', script)(importFrom, exported);
  return exported;
}

it('serves a vendor with the module of the README, which has fewer than 60 lines', async () => {
  const code = exampleIn(readFileSync(README, 'utf8'));
  expect(code.split('\n').length).toBeLessThan(60);
  const { ExampleModule } = load(code) as { ExampleModule: new () => unknown };
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule, ExampleModule],
    providers: [ProviderRegistry],
  }).compile();
  const [definition] = module.get(ProviderRegistry).collect();
  const upstream = await FakeUpstream.start();
  const message = { role: 'assistant', content: 'Hello' };
  upstream.answer = (response) =>
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ object: 'chat.completion', choices: [{ message, finish_reason: 'stop' }] }));
  const provider = definition?.create({ EXAMPLE_API_KEY: 'sk-example', EXAMPLE_BASE_URL: `${upstream.origin}/v1` });
  try {
    const answer = await provider?.chat?.complete(chatRequest(), providerCall({ quirks: provider.quirks }));
    expect(answer?.body.choices).toEqual([expect.objectContaining({ message: expect.objectContaining(message) })]);
    expect(upstream.received).toMatchObject([
      { url: '/v1/chat/completions', headers: { authorization: 'Bearer sk-example' } },
    ]);
  } finally {
    await provider?.close();
    await upstream.stop();
    await module.close();
  }
});
