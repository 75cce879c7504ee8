import type { ProviderEnvironment } from '../../core/config/provider-environment';
import { type Clock, systemClock } from '../../core/time/clock';
import type { JobAdapter } from '../contract/media-job';
import type { Provider, ProviderDefinition } from '../contract/provider';
import { NO_CAPABILITIES } from '../contract/provider';
import { parseBaseUrl, UpstreamHttp } from './upstream-http';

/** The settings that differ between vendors that make only videos. */
export interface JobPreset {
  readonly id: string;
  /** Environment name of the key. */
  readonly apiKeyVariable: string;
  readonly baseUrlVariable: string;
  readonly defaultBaseUrl: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The `Authorization` header for a key; default: a bearer token. */
  readonly authorization?: (apiKey: string, clock: Clock) => () => string;
  readonly video: (provider: string, http: UpstreamHttp) => JobAdapter;
}

/** A vendor of videos. All that its class needs is its preset. */
export abstract class JobProvider implements ProviderDefinition {
  readonly id: string;
  readonly credentials: readonly string[];

  constructor(private readonly preset: JobPreset) {
    this.id = preset.id;
    this.credentials = [preset.apiKeyVariable, preset.baseUrlVariable];
  }

  create(environment: ProviderEnvironment): Provider | null {
    const { id, apiKeyVariable, baseUrlVariable, defaultBaseUrl, headers } = this.preset;
    const apiKey = environment[apiKeyVariable];
    if (apiKey === undefined) return null;
    const authorize = this.preset.authorization ?? bearer;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[baseUrlVariable] ?? defaultBaseUrl, baseUrlVariable),
      headers,
      authorization: authorize(apiKey, systemClock),
    });
    return {
      id,
      capabilities: { ...NO_CAPABILITIES, video: true },
      quirks: {},
      video: this.preset.video(id, http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

function bearer(apiKey: string): () => string {
  return () => `Bearer ${apiKey}`;
}
