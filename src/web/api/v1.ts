import { api, unwrap } from './client';
import { ApiError } from './errors';

const RENEW_BEFORE_END_MS = 60_000;

interface Key {
  readonly secret: string;
  readonly apiKeyId: string;
  readonly expiresAtMs: number;
}

/** One key per organization, in memory only: it ends with the page. */
const keys = new Map<string, Promise<Key>>();

async function issue(organizationId: string): Promise<Key> {
  const issued = await unwrap(
    api.POST('/dashboard/api/organizations/{organization_id}/playground-keys', {
      params: { path: { organization_id: organizationId } },
    }),
  );
  return { secret: issued.key, apiKeyId: issued.api_key_id, expiresAtMs: Date.parse(issued.expires_at) };
}

async function playgroundKey(organizationId: string): Promise<Key> {
  const known = await keys.get(organizationId)?.catch(() => undefined);
  if (known !== undefined && known.expiresAtMs - Date.now() > RENEW_BEFORE_END_MS) return known;
  const issued = issue(organizationId);
  keys.set(organizationId, issued);
  return issued;
}

/** The API key under which the playground's requests are counted. */
export async function playgroundKeyId(organizationId: string): Promise<string> {
  return (await playgroundKey(organizationId)).apiKeyId;
}

export interface V1Options {
  readonly body: FormData | object;
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
}

/**
 * Calls an operation of `/v1` and spends for the signed-in user.
 * @returns the successful reply, its body unread
 * @throws ApiError
 */
export async function callV1(organizationId: string, path: `/v1/${string}`, options: V1Options): Promise<Response> {
  const reply = await send(organizationId, path, options);
  if (reply.status !== 401) return requireSuccess(reply);
  // The key has ended, for example because newer ones of other tabs replaced it. Nothing was charged.
  keys.delete(organizationId);
  return requireSuccess(await send(organizationId, path, options));
}

async function send(organizationId: string, path: string, options: V1Options): Promise<Response> {
  const { body, signal, idempotencyKey } = options;
  const { secret } = await playgroundKey(organizationId);
  const isForm = body instanceof FormData;
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(!isForm && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  try {
    return await fetch(path, {
      method: 'POST',
      headers,
      body: isForm ? body : JSON.stringify(body),
      credentials: 'omit',
      signal,
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw ApiError.unreachable();
  }
}

async function requireSuccess(reply: Response): Promise<Response> {
  if (reply.ok) return reply;
  const body: unknown = await reply.json().catch(() => undefined);
  throw ApiError.of(reply, body);
}

/** The id that the receipt of the request has. */
export function requestIdOf(reply: Response): string {
  return reply.headers.get('x-request-id') ?? '';
}

/** The charge; of a stream, the hold. */
export function costOf(reply: Response): number {
  return Number(reply.headers.get('x-llm-cost-micro') ?? 0);
}
