import { loadCatalog } from '../../src/models/load-catalog';
import { toOpenAiChatRequest } from '../../src/providers/dialects/openai-chat/chat-request';
import { GroqProvider } from '../../src/providers/vendors/groq/groq.module';
import { chatRequest, providerCall } from './provider-call';

/** What Groq accepts beside `none` (`groq-sdk` 1.6.0). */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  'qwen/qwen3.6-27b': ['default'],
  'qwen/qwen3.8-27b': ['default', 'low', 'medium', 'high'],
  'openai/gpt-oss-20b': ['low', 'medium', 'high'],
  'openai/gpt-oss-120b': ['low', 'medium', 'high'],
};

it.each(Object.entries(ACCEPTED))('%s gets only efforts that Groq has for it: %j', async (id, accepted) => {
  const entry = (await loadCatalog(null)).map((file) => file.entry).find((each) => each.id === id);
  const deployment = entry?.deployments.find(({ provider }) => provider === 'groq');
  const groq = new GroqProvider().create({ GROQ_API_KEY: 'k' });
  const features = entry?.features ?? {};
  const call = providerCall({ features, quirks: { ...groq?.quirks, ...deployment?.quirks } });
  const efforts = features.reasoning ?? ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
  const sent = efforts.map(
    (reasoning_effort) => toOpenAiChatRequest(chatRequest({ reasoning_effort }), call, false)['reasoning_effort'],
  );
  expect(sent.filter((effort) => !accepted.includes(String(effort)))).toEqual([]);
  await groq?.close();
});
