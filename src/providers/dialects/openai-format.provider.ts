import type { ProviderEnvironment } from '../../core/config/provider-environment';
import type { ChatProvider } from '../contract/chat';
import type { ImagesProvider } from '../contract/images';
import type { DownloadCredential, JobAdapter } from '../contract/media-job';
import type { Provider, ProviderCapabilities, ProviderDefinition } from '../contract/provider';
import type { Quirks } from '../contract/provider-call';
import type { SpeechProvider } from '../contract/speech';
import type { TranscriptionProvider } from '../contract/transcription';
import { parseBaseUrl, UpstreamHttp } from '../kit/upstream-http';
import { OpenAiChat } from './openai-chat/openai-chat.provider';
import { OpenAiCompletions } from './openai-completions';
import { OpenAiEmbeddings } from './openai-embeddings';
import { OpenAiImages } from './openai-media/openai-images';
import { OpenAiSpeech } from './openai-media/openai-speech';
import { OpenAiTranscription } from './openai-media/openai-transcription';
import { OpenAiResponses } from './openai-responses/openai-responses.provider';

/** The dialects of one base URL. */
const CAPABILITIES = ['chat', 'completions', 'embeddings', 'images', 'speech', 'transcription'] as const;

type OpenAiCapability = (typeof CAPABILITIES)[number];

/** Fields that concern OpenAI's own platform. Elsewhere they have no effect, and some vendors refuse them. */
export const OPENAI_PLATFORM_FIELDS: readonly string[] = [
  'store',
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'safety_identifier',
];

/** The quirk `reasoningEfforts` of vendors whose efforts are `low`, `medium` and `high`. */
export const LOW_TO_HIGH_EFFORTS: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' };

/** Optional chat fields that all vendors accept, even those that refuse unknown fields. */
export const COMMON_CHAT_FIELDS: readonly string[] = [
  'temperature',
  'top_p',
  'stop',
  'seed',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
];

/** The settings that differ between vendors of this wire format. */
export interface OpenAiPreset {
  readonly id: string;
  /** The environment variable of the key. */
  readonly apiKeyVariable: string;
  /** The environment variable of the base URL, that is, everything before `/chat/completions`. */
  readonly baseUrlVariable: string;
  /** If absent, the provider exists only where the operator sets the base URL, and the key may be missing. */
  readonly defaultBaseUrl?: string;
  /** The header that carries the key; by default it is sent as a bearer token. */
  readonly apiKeyHeader?: string;
  /**
   * The endpoints that the vendor documents in this format; default: all. The catalogue states which model each one
   * serves.
   */
  readonly capabilities?: readonly OpenAiCapability[];
  readonly quirks: Quirks;
  /** For chat in a format other than chat completions. */
  readonly chat?: (http: UpstreamHttp) => ChatProvider;
  /** For images in the vendor's own format; default: OpenAI's. */
  readonly images?: (http: UpstreamHttp) => ImagesProvider;
  /** For speech in the vendor's own format. */
  readonly speech?: (http: UpstreamHttp) => SpeechProvider;
  /** For transcription in the vendor's own format. */
  readonly transcription?: (http: UpstreamHttp) => TranscriptionProvider;
  /** The environment variable of the secret that signs the vendor's reports about videos. */
  readonly reportSecretVariable?: string;
  /** For videos, in the vendor's own format. */
  readonly video?: (
    provider: string,
    http: UpstreamHttp,
    credential: DownloadCredential,
    reportSecret: string | undefined,
  ) => JobAdapter;
  /** For music, in the vendor's own format. */
  readonly music?: (http: UpstreamHttp) => JobAdapter;
}

/** A provider with OpenAI's wire formats. A subclass only supplies its preset. */
export abstract class OpenAiFormatProvider implements ProviderDefinition {
  readonly id: string;
  readonly credentials: readonly string[];

  constructor(private readonly preset: OpenAiPreset) {
    this.id = preset.id;
    const { apiKeyVariable, baseUrlVariable, reportSecretVariable } = preset;
    this.credentials = [apiKeyVariable, baseUrlVariable, ...(reportSecretVariable ? [reportSecretVariable] : [])];
  }

  create(environment: ProviderEnvironment): Provider | null {
    return createProvider(this.preset, environment);
  }
}

function createProvider(preset: OpenAiPreset, environment: ProviderEnvironment): Provider | null {
  const { id, apiKeyVariable, baseUrlVariable, defaultBaseUrl, apiKeyHeader, quirks } = preset;
  const apiKey = environment[apiKeyVariable];
  const baseUrl = environment[baseUrlVariable] ?? defaultBaseUrl;
  if (baseUrl === undefined || (defaultBaseUrl !== undefined && apiKey === undefined)) return null;
  const url = parseBaseUrl(baseUrl, baseUrlVariable);
  const headers = apiKey === undefined ? {} : toKeyHeader(apiKey, apiKeyHeader);
  const http = new UpstreamHttp({ baseUrl: url, headers });
  const reportSecret = environment[preset.reportSecretVariable ?? ''];
  const video = preset.video?.(id, http, { hosts: [url.host], headers }, reportSecret);
  const music = preset.music?.(http);
  const capabilities = {
    ...toCapabilities(preset.capabilities ?? CAPABILITIES),
    video: video !== undefined,
    music: music !== undefined,
  };
  return {
    id,
    capabilities,
    quirks,
    ...(capabilities.chat && {
      chat: preset.chat?.(http) ?? new OpenAiChat(http),
      responses: new OpenAiResponses(http),
    }),
    ...(capabilities.completions && { completions: new OpenAiCompletions(http) }),
    ...(capabilities.embeddings && { embeddings: new OpenAiEmbeddings(http) }),
    ...(capabilities.images && { images: preset.images?.(http) ?? new OpenAiImages(http) }),
    ...(capabilities.speech && { speech: preset.speech?.(http) ?? new OpenAiSpeech(http) }),
    ...(capabilities.transcription && { transcription: preset.transcription?.(http) ?? new OpenAiTranscription(http) }),
    ...(video !== undefined && { video }),
    ...(music !== undefined && { music }),
    drain: () => http.drain(),
    close: () => http.close(),
  };
}

function toKeyHeader(apiKey: string, header: string | undefined): Record<string, string> {
  return header === undefined ? { authorization: `Bearer ${apiKey}` } : { [header]: apiKey };
}

function toCapabilities(offered: readonly OpenAiCapability[]): ProviderCapabilities {
  return {
    chat: offered.includes('chat'),
    completions: offered.includes('completions'),
    embeddings: offered.includes('embeddings'),
    images: offered.includes('images'),
    speech: offered.includes('speech'),
    transcription: offered.includes('transcription'),
    video: false,
    music: false,
  };
}
