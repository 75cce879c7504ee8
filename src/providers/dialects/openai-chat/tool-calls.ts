import { randomBytes } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../kit/json';

/** Tool calls in the standard shape, and the UTF-8 bytes of their arguments. */
export interface NormalizedToolCalls {
  readonly calls: JsonObject[];
  readonly bytes: number;
}

/** A call as an upstream writes it, or a piece of one. */
interface GivenCall {
  readonly kind: 'function' | 'custom';
  /** Empty when it is missing. */
  readonly name: string;
  /** Arguments of a function, or the input of a custom tool. */
  readonly text: string;
}

/** The tool calls of a whole message: ids present, arguments a string. */
export function normalizeToolCalls(toolCalls: readonly unknown[]): NormalizedToolCalls {
  const calls: JsonObject[] = [];
  let bytes = 0;
  for (const call of toolCalls) {
    if (!isJsonObject(call)) continue;
    const { index: _index, id, function: _function, custom: _custom, ...extra } = call;
    const given = readCall(call);
    bytes += Buffer.byteLength(given.text);
    calls.push({ ...extra, id: toCallId(id), type: given.kind, ...toCalled(given) });
  }
  return { calls, bytes };
}

interface OpenCall {
  readonly index: number;
  id: string;
  kind: GivenCall['kind'];
  /** Arguments that arrived before the name; the first delta must carry the name. */
  heldArguments: string;
  announced: boolean;
}

/**
 * The tool calls of a stream. Clients join deltas by `index` and expect id, type and name in the first of each, so
 * indexes are assigned here in order of appearance, regardless of the upstream's numbers.
 */
export class ToolCallDeltas {
  private readonly calls: OpenCall[] = [];
  private readonly byUpstreamIndex = new Map<number, OpenCall>();

  /** Whether a call was forwarded. */
  get any(): boolean {
    return this.calls.some(({ announced }) => announced);
  }

  /** @returns the deltas to forward; empty while a call has no name yet */
  normalize(deltas: readonly unknown[]): NormalizedToolCalls {
    const calls: JsonObject[] = [];
    let bytes = 0;
    for (const delta of deltas) {
      if (!isJsonObject(delta)) continue;
      const given = readCall(delta);
      const call = this.find(delta, given.name);
      bytes += Buffer.byteLength(given.text);
      const forwarded = forward(call, delta, given);
      if (forwarded !== null) calls.push(forwarded);
    }
    return { calls, bytes };
  }

  /** The calls with arguments whose name never arrived, each as one delta. */
  held(): JsonObject[] {
    return this.calls
      .filter(({ announced, heldArguments }) => !announced && heldArguments !== '')
      .map((call) => announce(call, { kind: call.kind, name: '', text: call.heldArguments }));
  }

  private find(delta: JsonObject, name: string): OpenCall {
    const id = typeof delta['id'] === 'string' ? delta['id'] : '';
    const upstreamIndex = typeof delta['index'] === 'number' ? delta['index'] : null;
    const current = upstreamIndex === null ? this.calls.at(-1) : this.byUpstreamIndex.get(upstreamIndex);
    if (current !== undefined && current.id === id) return current;
    const known = id === '' ? undefined : this.calls.find((call) => call.id === id);
    // Some upstreams use the name as the id: a delta with a name and a new index is another call.
    const isAnother = upstreamIndex !== null && current === undefined && name !== '';
    if (known !== undefined && !isAnother) return known;

    // A new id with a name is a new call, even under an index that was used before.
    if (current !== undefined && (id === '' || (name === '' && upstreamIndex !== null))) return current;

    const opened: OpenCall = {
      index: this.calls.length,
      id: toCallId(id),
      kind: 'function',
      heldArguments: '',
      announced: false,
    };
    this.calls.push(opened);
    if (upstreamIndex !== null) this.byUpstreamIndex.set(upstreamIndex, opened);
    return opened;
  }
}

function forward(call: OpenCall, delta: JsonObject, { kind, name, text }: GivenCall): JsonObject | null {
  if (call.announced) return { index: call.index, ...toCalled({ kind, text }) };
  call.heldArguments += text;
  call.kind = kind;
  if (name === '') return null;
  const { index: _index, id: _id, function: _function, custom: _custom, ...extra } = delta;
  return { ...extra, ...announce(call, { kind, name, text: call.heldArguments }) };
}

/** The first delta of a call. */
function announce(call: OpenCall, given: GivenCall): JsonObject {
  call.announced = true;
  return { index: call.index, id: call.id, type: given.kind, ...toCalled(given) };
}

function readCall(call: JsonObject): GivenCall {
  const { function: called, custom } = call;
  if (isJsonObject(custom)) return { kind: 'custom', name: toName(custom['name']), text: toArguments(custom['input']) };
  const { name, arguments: given } = isJsonObject(called) ? called : {};
  return { kind: 'function', name: toName(name), text: toArguments(given) };
}

function toName(name: unknown): string {
  return typeof name === 'string' ? name : '';
}

/** The member of a call that is named after its kind. */
export function toCalled({ kind, name, text }: Omit<GivenCall, 'name'> & Partial<GivenCall>): JsonObject {
  const named = name === undefined ? {} : { name };
  return kind === 'custom' ? { custom: { ...named, input: text } } : { function: { ...named, arguments: text } };
}

function toCallId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : `call_${randomBytes(12).toString('hex')}`;
}

function toArguments(given: unknown): string {
  if (typeof given === 'string') return given;
  return isJsonObject(given) || Array.isArray(given) ? JSON.stringify(given) : '';
}
