import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai';
import { createOpenAICompatible, type OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import type { TestCustomer, TestGateway } from '../../harness/gateway';

/** Base URL and key for a client of the AI SDK. */
type Access = Pick<TestCustomer, 'key'>;

export function openaiProvider(gateway: TestGateway, { key }: Access): OpenAIProvider {
  return createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key });
}

export function compatibleProvider(gateway: TestGateway, { key }: Access): OpenAICompatibleProvider {
  return createOpenAICompatible({
    name: 'gateway',
    baseURL: `${gateway.url}/v1`,
    apiKey: key,
    supportsStructuredOutputs: true,
  });
}

type Connect = (gateway: TestGateway, access: Access, model: string) => LanguageModel;

/** For `describe.each`: every API by which the AI SDK calls a chat model. */
export const CONVERSING: readonly [string, Connect][] = [
  ['@ai-sdk/openai by responses', (gateway, access, model) => openaiProvider(gateway, access)(model)],
  ['@ai-sdk/openai by chat', (gateway, access, model) => openaiProvider(gateway, access).chat(model)],
  ['@ai-sdk/openai-compatible', (gateway, access, model) => compatibleProvider(gateway, access)(model)],
];

/** The same for a completion model. */
export const COMPLETING: readonly [string, Connect][] = [
  ['@ai-sdk/openai', (gateway, access, model) => openaiProvider(gateway, access).completion(model)],
  ['@ai-sdk/openai-compatible', (gateway, access, model) => compatibleProvider(gateway, access).completionModel(model)],
];

/** The AI SDK warns on the console about settings that a format lacks, unless disabled. */
export function silenceWarnings(): void {
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
}
