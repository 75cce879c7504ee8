import { eventData } from './event-stream';
import { whenSignedIn } from './sign-in';

/** A request to `/v1` and its reply, without keys. */
export interface Exchange {
  readonly path: string;
  /** The body; of a form its fields, with name, type and size of each file. */
  readonly request: unknown;
  readonly status: number;
  /**
   * The body of a JSON reply; the events of a stream so far; type and bytes of a file. Undefined until it has arrived,
   * or when it could not be read. Long texts are shortened.
   */
  readonly reply: unknown;
}

const MOST_KEPT = 50;
const MOST_EVENTS = 2000;
/** In characters; prompts are shorter. */
const LONGEST_TEXT = 20_000;
const SHOWN_OF_LONGER = 200;

/** By request id, oldest first; in memory only. */
const kept = new Map<string, Exchange>();

whenSignedIn(() => kept.clear());

export function keptExchange(requestId: string): Exchange | undefined {
  return kept.get(requestId);
}

/** Keeps the exchange under the id of its request, and leaves the body of `response` unread. */
export function keepExchange(path: string, body: FormData | object, response: Response): void {
  const requestId = response.headers.get('x-request-id');
  if (requestId === null) return;
  const exchange = {
    path,
    request: shortened(body instanceof FormData ? fieldsOf(body) : body),
    status: response.status,
  };
  kept.delete(requestId);
  const set = (reply: unknown): void => void kept.set(requestId, { ...exchange, reply });
  set(undefined);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
  // A reply that is cut off is kept as far as it came; its reader gets the error.
  void readReply(response, (reply) => {
    if (kept.has(requestId)) set(reply);
  }).catch(() => undefined);
}

async function readReply(response: Response, set: (reply: unknown) => void): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) set(shortened(await response.clone().json()));
  else if (type.startsWith('text/event-stream')) {
    const { body } = response.clone();
    const events: unknown[] = [];
    set(events);
    if (body === null) return;
    for await (const data of eventData(body)) if (events.length < MOST_EVENTS) events.push(shortened(JSON.parse(data)));
  } else set({ content_type: type, bytes: Number(response.headers.get('content-length')) || undefined });
}

function fieldsOf(form: FormData): Readonly<Record<string, unknown>> {
  const fields = [...form.entries()].map(([name, value]) => {
    if (typeof value === 'string') return [name, value];
    return [name, { file: value.name, content_type: value.type, bytes: value.size }];
  });
  return Object.fromEntries(fields) as Readonly<Record<string, unknown>>;
}

/** A copy in which long texts, such as pictures in base64, say how long they were. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length <= LONGEST_TEXT ? value : `${value.slice(0, SHOWN_OF_LONGER)}… (${value.length} characters)`;
  }
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each)]));
}
