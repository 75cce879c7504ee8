/**
 * Which source files run for a plain chat completion, and so must be read to follow it. A new file on the path belongs
 * in one that is there already, or raises the ceiling for a reason.
 */
import { readFileSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestGateway } from '../harness/gateway';
import { createCatalog } from '../harness/upstream-models';
import { FakeUpstream } from './fake-upstream';

const SOURCE = resolve(__dirname, '../../src');
const GUIDE = 'inference/README.md';
const CALLS = 10;

let upstream: FakeUpstream;
let catalog: ReturnType<typeof createCatalog>;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.answer = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      }),
    );
  catalog = createCatalog();
  gateway = await TestGateway.start({
    CATALOG_DIR: catalog.path,
    OPENAI_COMPATIBLE_BASE_URL: upstream.origin,
    OPENAI_COMPATIBLE_API_KEY: 'test',
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

it.each([
  ['the mock provider', 'mock/chat-1', 55],
  ['an upstream of the OpenAI format', 'local/chat', 62],
])('a chat completion by %s runs through a limited number of files', async (_name, model, ceiling) => {
  const { key } = await gateway.customer();
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };

  const files = await filesRunByEachCall(async () => {
    expect((await gateway.call('/v1/chat/completions', { key, body })).status).toBe(200);
  });

  expect(files).toEqual(expect.arrayContaining(['chat/chat.controller.ts', 'billing/ledger/reservation.service.ts']));
  // Named when there are too many.
  expect(files.length <= ceiling ? [] : files).toEqual([]);
});

it('the guide of src/inference lists the files of a chat completion by the mock provider', async () => {
  const { key } = await gateway.customer();
  const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
  const files = await filesRunByEachCall(() => gateway.call('/v1/chat/completions', { key, body }));

  const listed = filesInTables(readFileSync(resolve(SOURCE, GUIDE), 'utf8'));
  expect(listed.filter((file) => !files.includes(file))).toEqual([]);
  // The guide lists of `core` only what is specific to this path.
  expect(files.filter((file) => !file.startsWith('core/') && !listed.includes(file))).toEqual([]);
});

/** The files whose links begin the rows of tables. */
function filesInTables(markdown: string): string[] {
  return [...markdown.matchAll(/^\| \[.*?\]\((.*?)\)/gm)].map(([, target = '']) =>
    relative(SOURCE, resolve(SOURCE, GUIDE, '..', target)),
  );
}

/** Periodic tasks do not run in each call. */
async function filesRunByEachCall(call: () => Promise<unknown>): Promise<string[]> {
  await call();
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    let files: string[] | null = null;
    for (let calls = 0; calls < CALLS; calls++) {
      await call();
      const run = filesOf((await session.post('Profiler.takePreciseCoverage')).result);
      files = files === null ? [...run] : files.filter((file) => run.has(file));
    }
    return files ?? [];
  } finally {
    session.disconnect();
  }
}

/** Getters do not count: they are how compiled tests import constants. */
function filesOf(scripts: readonly Profiler.ScriptCoverage[]): Set<string> {
  return new Set(
    scripts
      .filter(({ functions }) =>
        functions.some(({ functionName, ranges }) => !functionName.startsWith('get ') && (ranges[0]?.count ?? 0) > 0),
      )
      .map(({ url }) => relative(SOURCE, url.startsWith('file:') ? fileURLToPath(url) : url))
      .filter((file) => !file.startsWith('..') && file.endsWith('.ts')),
  );
}
