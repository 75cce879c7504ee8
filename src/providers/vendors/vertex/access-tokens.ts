import { Readable } from 'node:stream';
import type { gaxios, JWT } from 'google-auth-library';
import { ProviderError } from '../../contract/provider-error';
import { type JsonObject, parseJsonObject } from '../../kit/json';
import { type UpstreamBody, UpstreamHttp } from '../../kit/upstream-http';
import type { ServiceAccount } from './service-account';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const TIMEOUT_MS = 10_000;
const DEADLINES = { connectMs: TIMEOUT_MS, firstTokenMs: TIMEOUT_MS, idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS };
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Access tokens of a service account. The library signs, caches a token until five minutes before it expires, and joins
 * concurrent renewals; it is loaded for the first call. Its requests go through the kit, so it opens no sockets.
 */
export class AccessTokens {
  private readonly http: UpstreamHttp;
  private readonly endpoint: string;
  private client: Promise<JWT> | undefined;
  private token = '';

  constructor(private readonly account: ServiceAccount) {
    this.http = new UpstreamHttp({ baseUrl: new URL(account.tokenUrl.origin) });
    this.endpoint = account.tokenUrl.pathname + account.tokenUrl.search;
  }

  /** Value of the `Authorization` header, once `renew` has resolved. */
  get authorization(): string {
    return `Bearer ${this.token}`;
  }

  /**
   * Gets a new token unless the current one is still valid.
   * @throws ProviderError in phase `connect`: the call itself has not been sent
   */
  async renew(): Promise<void> {
    const client = await (this.client ??= this.createClient());
    const { token } = await client.getAccessToken();
    this.token = token ?? '';
  }

  close(): Promise<void> {
    return this.http.close();
  }

  private async createClient(): Promise<JWT> {
    const { JWT: Client, gaxios: library } = await import('google-auth-library');
    const { email, privateKey: key, tokenUrl } = this.account;
    const transporter = new library.Gaxios();
    transporter.request = async <Data>({ data }: gaxios.GaxiosOptions) =>
      ({ data: await this.fetchToken(data as URLSearchParams) }) as gaxios.GaxiosResponse<Data>;
    return new Client({ email, key, scopes: [SCOPE], additionalClaims: { aud: tokenUrl.href }, transporter });
  }

  private async fetchToken(form: URLSearchParams): Promise<JsonObject> {
    // Callers share the request, so none of them may abort it.
    const call = { deadlines: DEADLINES, signal: new AbortController().signal };
    let reply: JsonObject | null;
    try {
      reply = parseJsonObject(await this.http.post(this.endpoint, toBody(form), call));
    } catch (error) {
      throw error instanceof ProviderError ? tokenFailure(error) : error;
    }
    const { access_token: token, expires_in: lifetimeSeconds } = reply ?? {};
    if (typeof token !== 'string' || !TOKEN.test(token) || !Number.isFinite(lifetimeSeconds)) throw noToken();
    return { access_token: token, expires_in: lifetimeSeconds };
  }
}

function toBody(form: URLSearchParams): UpstreamBody {
  const bytes = Buffer.from(form.toString());
  const contentType = 'application/x-www-form-urlencoded';
  return { contentType, byteLength: bytes.length, toStream: () => Readable.from([bytes]) };
}

/**
 * Google answers 400 or 401 to a wrong or revoked key:
 * https://developers.google.com/identity/protocols/oauth2/service-account
 */
function tokenFailure({ code, message, options }: ProviderError): ProviderError {
  const { upstream, retrySame, retryAfterSeconds, cause } = options;
  const facts = { phase: 'connect', fallback: true, upstream, cause } as const;
  if (options.credentialRefused === true || upstream?.status === 400) {
    const refusal = 'The provider refused the gateway’s account.';
    return new ProviderError('provider_error', refusal, { ...facts, credentialRefused: true });
  }
  return new ProviderError(code, message, { ...facts, retrySame, retryAfterSeconds });
}

function noToken(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not an access token.', {
    phase: 'connect',
    fallback: true,
  });
}
