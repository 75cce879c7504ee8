import type { ProviderEnvironment } from '../../core/config/provider-environment';
import { type Clock, systemClock } from '../../core/time/clock';
import {
  NO_CAPABILITIES,
  type Provider,
  type ProviderCapabilities,
  type ProviderDefinition,
} from '../contract/provider';
import type { DownloadCredential } from '../contract/media-job';
import type { Quirks } from '../contract/provider-call';
import { accountIdOf } from './key-id';
import { parseBaseUrl, UpstreamHttp } from './upstream-http';

/** The members of a provider that serve requests. */
type ServedCapabilities = Pick<Provider, keyof ProviderCapabilities>;

/** The settings that differ between vendors with one key, one host and their own formats. */
export interface ApiKeyPreset {
  readonly id: string;
  /** The environment variable of the key. */
  readonly apiKeyVariable: string;
  readonly baseUrlVariable: string;
  readonly defaultBaseUrl: string;
  /** The headers of every request; default: the key as a bearer token. */
  readonly headers?: (apiKey: string) => Readonly<Record<string, string>>;
  /** For keys that sign short-lived tokens: returns the `Authorization` header of each request. */
  readonly authorization?: (apiKey: string, clock: Clock) => () => string;
  readonly quirks?: Quirks;
  /**
   * `credential` gives access to files at the same host; it excludes the header of `authorization` above. `account` is
   * the `submissionAccount` of jobs that may be resubmitted.
   */
  readonly serve: (
    http: UpstreamHttp,
    provider: string,
    credential: DownloadCredential,
    account: string,
  ) => ServedCapabilities;
}

/** A vendor with one key and one host. A subclass only supplies its preset. */
export abstract class ApiKeyProvider implements ProviderDefinition {
  readonly id: string;
  readonly credentials: readonly string[];

  constructor(private readonly preset: ApiKeyPreset) {
    this.id = preset.id;
    this.credentials = [preset.apiKeyVariable, preset.baseUrlVariable];
  }

  create(environment: ProviderEnvironment): Provider | null {
    const { id, apiKeyVariable, baseUrlVariable, defaultBaseUrl, authorization, quirks = {}, serve } = this.preset;
    const apiKey = environment[apiKeyVariable];
    if (apiKey === undefined) return null;
    const baseUrl = parseBaseUrl(environment[baseUrlVariable] ?? defaultBaseUrl, baseUrlVariable);
    const headers = (this.preset.headers ?? (authorization === undefined ? bearer : none))(apiKey);
    const http = new UpstreamHttp({
      baseUrl,
      headers,
      ...(authorization !== undefined && { authorization: authorization(apiKey, systemClock) }),
    });
    const served = serve(http, id, { hosts: [baseUrl.host], headers }, accountIdOf(id, baseUrl.href, apiKey));
    const capabilities = Object.fromEntries(Object.keys(served).map((capability) => [capability, true]));
    return {
      id,
      capabilities: { ...NO_CAPABILITIES, ...capabilities },
      quirks,
      ...served,
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

function bearer(apiKey: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${apiKey}` };
}

function none(): Readonly<Record<string, string>> {
  return {};
}
