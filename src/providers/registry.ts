import type { ProviderDefinition } from './contract/provider';
import { mockMediaProviders } from './vendors/mock/mock-media.provider';
import { mockProvider } from './vendors/mock/mock.provider';
import { openaiCompatibleProvider } from './vendors/openai-compatible/openai-compatible.provider';
import { openaiProvider } from './vendors/openai/openai.provider';

/** Every provider of this build. Adding one: a folder under `vendors/` and a line here (see README.md). */
export const PROVIDER_DEFINITIONS: readonly ProviderDefinition[] = [
  mockProvider,
  ...mockMediaProviders,
  openaiProvider,
  openaiCompatibleProvider,
];
