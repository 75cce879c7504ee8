import { CompletionGateway } from './completion-gateway';

const PROMPT_BYTES = 4_000;
/** The tokens that the chat template adds, by the gateway's estimate. */
const FRAMING_TOKENS = 4;

let served: CompletionGateway;

beforeAll(async () => {
  served = await CompletionGateway.start();
});
afterAll(() => served.stop());

function answerWith(usage: object | undefined): void {
  const choices = [{ text: '', message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }];
  served.upstream.answer = (response) => response.end(JSON.stringify({ choices, usage }));
}

const complete = (model: string) => served.complete({ model, prompt: 'x'.repeat(PROMPT_BYTES), max_tokens: 1 });

async function estimateOf(model: string): Promise<number> {
  answerWith(undefined);
  const { json } = await complete(model);
  expect(json.usage.x_llm_usage_estimated).toBe(true);
  return json.usage.prompt_tokens - FRAMING_TOKENS;
}

it('estimates converge to the usage that the provider reports, per model', async () => {
  expect(await estimateOf('local/base')).toBe(PROMPT_BYTES * 0.25);
  answerWith({ prompt_tokens: PROMPT_BYTES * 0.5, completion_tokens: 1 });
  for (let request = 0; request < 100; request++) expect((await complete('local/base')).status).toBe(200);
  const learned = await estimateOf('local/base');
  expect(learned).toBeGreaterThan(PROMPT_BYTES * 0.45);
  expect(learned).toBeLessThan(PROMPT_BYTES * 0.5);
  expect(await estimateOf('local/chat')).toBe(PROMPT_BYTES * 0.25);
});

it('the next request holds the corrected estimate', async () => {
  const poor = await served.gateway.customer({}, 1_200n);
  const { status, json } = await served.complete(
    { model: 'local/base', prompt: 'x'.repeat(PROMPT_BYTES), max_tokens: 1 },
    {},
    poor.key,
  );
  expect([status, json.error.code]).toEqual([402, 'insufficient_credits']);
});
