import { api, unwrap } from './client';
import { ApiError } from './errors';
import { keepExchange } from './exchanges';
import { whenSignedIn } from './sign-in';

const RENEW_BEFORE_END_MS = 60_000;

interface Key {
  readonly secret: string;
  readonly apiKeyId: string;
  readonly expiresAtMs: number;
}

/** One key per organization, in memory only: it ends with the page. */
const keys = new Map<string, Promise<Key>>();

whenSignedIn(() => keys.clear());

async function issue(organizationId: string): Promise<Key> {
  const issued = await unwrap(
    api.POST('/dashboard/api/organizations/{organization_id}/playground-keys', {
      params: { path: { organization_id: organizationId } },
    }),
  );
  return { secret: issued.key, apiKeyId: issued.api_key_id, expiresAtMs: Date.parse(issued.expires_at) };
}

/** Calls at the same time share one key. */
function playgroundKey(organizationId: string): Promise<Key> {
  const before = keys.get(organizationId);
  const usable = before === undefined ? issue(organizationId) : before.then((key) => renewed(organizationId, key));
  keys.set(organizationId, usable);
  usable.catch(() => forget(organizationId, usable));
  return usable;
}

function renewed(organizationId: string, key: Key): Key | Promise<Key> {
  return key.expiresAtMs - Date.now() > RENEW_BEFORE_END_MS ? key : issue(organizationId);
}

/** Unless another call has replaced it. */
function forget(organizationId: string, key: Promise<Key>): void {
  if (keys.get(organizationId) === key) keys.delete(organizationId);
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
  const { secret } = await playgroundKey(organizationId);
  const reply = await send(secret, path, options);
  if (reply.status !== 401) return settle(path, options, reply);
  // The key has ended, for example because newer ones of other tabs replaced it. Nothing was charged.
  const current = keys.get(organizationId);
  if (current !== undefined && (await current).secret === secret) forget(organizationId, current);
  return settle(path, options, await send((await playgroundKey(organizationId)).secret, path, options));
}

function settle(path: string, { body }: V1Options, reply: Response): Promise<Response> {
  keepExchange(path, body, reply);
  return requireSuccess(reply);
}

async function send(secret: string, path: string, options: V1Options): Promise<Response> {
  const { body, signal, idempotencyKey } = options;
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
