import type { ProviderEnvironment } from '../../core/config/provider-environment';
import type { Provider, ProviderCapabilities, ProviderDefinition } from '../contract/provider';
import type { Quirks } from '../contract/provider-call';
import { parseBaseUrl, UpstreamHttp } from '../kit/upstream-http';
import { OpenAiChat } from './openai-chat/openai-chat.provider';
import { OpenAiCompletions } from './openai-completions';
import { OpenAiEmbeddings } from './openai-embeddings';
import { OpenAiImages } from './openai-media/openai-images';
import { OpenAiSpeech } from './openai-media/openai-speech';
import { OpenAiTranscription } from './openai-media/openai-transcription';

/** The dialects of one base URL. The catalogue says which model serves which of them. */
const CAPABILITIES: ProviderCapabilities = {
  chat: true,
  completions: true,
  embeddings: true,
  images: true,
  speech: true,
  transcription: true,
  video: false,
  music: false,
};

/** The settings that differ between vendors of this wire format. */
export interface OpenAiPreset {
  readonly id: string;
  /** Environment name of the key, sent as a bearer token. */
  readonly apiKeyVariable: string;
  /** Environment name of the base URL, everything before `/chat/completions`. */
  readonly baseUrlVariable: string;
  /** Without one the provider exists only where the operator sets the base URL, and the key may be missing. */
  readonly defaultBaseUrl?: string;
  readonly quirks: Quirks;
}

/** A provider that speaks OpenAI's formats: all that a vendor's class needs is its preset. */
export abstract class OpenAiFormatProvider implements ProviderDefinition {
  readonly id: string;
  readonly credentials: readonly string[];

  constructor(private readonly preset: OpenAiPreset) {
    this.id = preset.id;
    this.credentials = [preset.apiKeyVariable, preset.baseUrlVariable];
  }

  create(environment: ProviderEnvironment): Provider | null {
    return createProvider(this.preset, environment);
  }
}

function createProvider(preset: OpenAiPreset, environment: ProviderEnvironment): Provider | null {
  const { id, apiKeyVariable, baseUrlVariable, defaultBaseUrl, quirks } = preset;
  const apiKey = environment[apiKeyVariable];
  const baseUrl = environment[baseUrlVariable] ?? defaultBaseUrl;
  if (baseUrl === undefined || (defaultBaseUrl !== undefined && apiKey === undefined)) return null;
  const http = new UpstreamHttp({
    baseUrl: parseBaseUrl(baseUrl, baseUrlVariable),
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
  });
  return {
    id,
    capabilities: CAPABILITIES,
    quirks,
    chat: new OpenAiChat(http),
    completions: new OpenAiCompletions(http),
    embeddings: new OpenAiEmbeddings(http),
    images: new OpenAiImages(http),
    speech: new OpenAiSpeech(http),
    transcription: new OpenAiTranscription(http),
    drain: () => http.drain(),
    close: () => http.close(),
  };
}
