import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { makeToolCallId } from './identity';

/** Tool calls in the format's shape, and the UTF-8 bytes of their arguments. */
export interface NormalizedToolCalls {
  readonly calls: JsonObject[];
  readonly bytes: number;
}

/** The tool calls of a whole message: ids present, arguments a string. */
export function normalizeToolCalls(toolCalls: readonly unknown[]): NormalizedToolCalls {
  const calls: JsonObject[] = [];
  let bytes = 0;
  for (const call of toolCalls) {
    if (!isJsonObject(call)) continue;
    const { index: _index, id, function: called, ...extra } = call;
    const { name, arguments: given } = isJsonObject(called) ? called : {};
    const text = toArguments(given);
    bytes += Buffer.byteLength(text);
    calls.push({
      ...extra,
      id: toCallId(id),
      type: 'function',
      function: { name: typeof name === 'string' ? name : '', arguments: text },
    });
  }
  return { calls, bytes };
}

interface OpenCall {
  readonly index: number;
  id: string;
  /** Arguments that came before the name; the first delta must carry the name. */
  heldArguments: string;
  announced: boolean;
}

/**
 * The tool calls of a stream. Clients join deltas by `index` and expect id, type and name in the first of each, so
 * indexes are given out here in order of appearance, whatever the upstream numbers (sheet A, rule 5).
 */
export class ToolCallDeltas {
  private readonly calls: OpenCall[] = [];
  private readonly byUpstreamIndex = new Map<number, OpenCall>();

  get any(): boolean {
    return this.calls.length > 0;
  }

  /** @returns the deltas to forward; empty while a call has no name yet */
  normalize(deltas: readonly unknown[]): NormalizedToolCalls {
    const calls: JsonObject[] = [];
    let bytes = 0;
    for (const delta of deltas) {
      if (!isJsonObject(delta)) continue;
      const called = isJsonObject(delta['function']) ? delta['function'] : {};
      const name = typeof called['name'] === 'string' ? called['name'] : '';
      const text = toArguments(called['arguments']);
      const call = this.find(delta, name);
      bytes += Buffer.byteLength(text);
      const forwarded = forward(call, delta, name, text);
      if (forwarded !== null) calls.push(forwarded);
    }
    return { calls, bytes };
  }

  private find(delta: JsonObject, name: string): OpenCall {
    const id = typeof delta['id'] === 'string' ? delta['id'] : '';
    const upstreamIndex = typeof delta['index'] === 'number' ? delta['index'] : null;
    const known = id === '' ? undefined : this.calls.find((call) => call.id === id);
    if (known !== undefined) return known;

    const current = upstreamIndex === null ? this.calls.at(-1) : this.byUpstreamIndex.get(upstreamIndex);
    // A new id together with a name is a new call, even under an index that was used before.
    if (current !== undefined && (id === '' || (name === '' && upstreamIndex !== null))) return current;

    const opened: OpenCall = { index: this.calls.length, id: toCallId(id), heldArguments: '', announced: false };
    this.calls.push(opened);
    if (upstreamIndex !== null) this.byUpstreamIndex.set(upstreamIndex, opened);
    return opened;
  }
}

function forward(call: OpenCall, delta: JsonObject, name: string, text: string): JsonObject | null {
  if (call.announced) return { index: call.index, function: { arguments: text } };
  call.heldArguments += text;
  if (name === '') return null;
  call.announced = true;
  const { index: _index, id: _id, function: _function, ...extra } = delta;
  return {
    ...extra,
    index: call.index,
    id: call.id,
    type: 'function',
    function: { name, arguments: call.heldArguments },
  };
}

function toCallId(id: unknown): string {
  return typeof id === 'string' && id !== '' ? id : makeToolCallId();
}

function toArguments(given: unknown): string {
  if (typeof given === 'string') return given;
  return isJsonObject(given) || Array.isArray(given) ? JSON.stringify(given) : '';
}
