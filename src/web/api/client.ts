import createClient from 'openapi-fetch';
import type { paths } from '../../contract/dashboard';
import { ApiError, isApiError } from './errors';

type SessionListener = () => void;
let onSessionEnded: SessionListener = () => undefined;

/** Calls the listener when a request finds that the session has ended. */
export function listenForEndedSession(listener: SessionListener): void {
  onSessionEnded = listener;
}

let onAccessRefused: SessionListener = () => undefined;

/** Calls the listener when an organization refuses its member, whose role may be another by now. */
export function listenForRefusedAccess(listener: SessionListener): void {
  onAccessRefused = listener;
}

/** Calls the dashboard's API: the paths, parameters and replies of `openapi/dashboard.yaml`. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: 'same-origin',
  headers: { 'X-Requested-With': 'dashboard' },
  fetch: send,
});

/** @throws ApiError without an answer. */
async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw ApiError.unreachable();
  }
}

/** Whether the document can be loaded: while the service is down, a proxy may answer in its place. */
export async function isReachable(): Promise<boolean> {
  try {
    const { ok } = await fetch('/dashboard/', { method: 'HEAD', headers: { accept: 'text/html' } });
    return ok;
  } catch {
    return false;
  }
}

interface Reply {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * The body of a successful reply.
 * @throws ApiError
 */
export async function unwrap<R extends Reply>(call: Promise<R>): Promise<Exclude<R['data'], undefined>> {
  const { data, error, response } = await wholeReply(call);
  if (response.ok) return data as Exclude<R['data'], undefined>;
  const failure = ApiError.of(response, error);
  if (failure.code === 'unauthenticated') onSessionEnded();
  if (isOfOrganization(response) && (failure.code === 'forbidden' || failure.code === 'not_found')) onAccessRefused();
  throw failure;
}

/** @throws ApiError when the connection ends within the body, or a proxy replies with something else than JSON. */
async function wholeReply<R extends Reply>(call: Promise<R>): Promise<R> {
  try {
    return await call;
  } catch (error) {
    const isAborted = error instanceof DOMException && error.name === 'AbortError';
    throw isAborted || isApiError(error) ? error : ApiError.unreachable();
  }
}

function isOfOrganization({ url }: Response): boolean {
  return url.includes('/dashboard/api/organizations/');
}
