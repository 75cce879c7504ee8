import { isJsonObject, type JsonObject, valueAtPointer } from '../../kit/json';

/** References of this form are resolved by the upstream. */
const DEFINITION = /^#\/\$defs\/[^/]+$/;
/** A JSON pointer whose percent-encoding is ASCII only. */
const POINTER = /^#\/(?:[^%]|%[0-7][\da-f])*$/i;
/** Keywords that the upstream accepts next to a reference. */
const REFERENCE_SIBLINGS: ReadonlySet<string> = new Set(['description', 'default']);
/** How many values and characters copies may add to the schemas of a request. */
const MAX_COPIED = 50_000;
/** Deeper schemas are sent unchanged. */
const MAX_DEPTH = 256;

/**
 * Rewrites references in schemas to the form that the upstream accepts: only definitions under `$defs`, and next to a
 * reference only a description and a default (https://ai.google.dev/api/generate-content#GenerationConfig,
 * https://github.com/anomalyco/opencode/issues/12295). Schema generators also write `definitions`, pointers into
 * properties, and titles: such references are replaced by a copy of their target, unless they are recursive. One
 * instance serves all schemas of a request, whose copies share a limit; a schema that exceeds it is sent unchanged.
 */
export class SchemaReferences {
  /** Values and characters copied so far. */
  private copied = 0;
  private root: JsonObject = {};

  resolve(schema: JsonObject): JsonObject {
    // Most schemas have none, and rewriting one costs three times as much as this search.
    if (!hasReference(schema, 0)) return schema;
    const before = this.copied;
    this.root = schema;
    const written = this.write(schema, [], 0);
    return this.copied > before && this.copied <= MAX_COPIED && isJsonObject(written) ? written : schema;
  }

  /** @param within the references that `value` is nested in */
  private write(value: unknown, within: readonly string[], depth: number): unknown {
    if (this.copied > MAX_COPIED) return value;
    if (depth > MAX_DEPTH) return this.unchanged(value, within);
    this.count(typeof value === 'string' ? value.length : 1, within);
    if (Array.isArray(value)) return value.map((each: unknown) => this.write(each, within, depth + 1));
    if (!isJsonObject(value)) return value;
    const { $ref: reference, ...siblings } = value;
    if (typeof reference !== 'string' || isKnown(reference, siblings)) return this.members(value, within, depth);
    this.count(reference.length, within);
    const target = within.includes(reference) ? undefined : this.find(reference);
    if (!isJsonObject(target)) return this.unchanged(value, within);
    const copy = this.write(target, [...within, reference], depth + 1);
    return { ...(isJsonObject(copy) ? copy : {}), ...this.members(siblings, within, depth) };
  }

  private members(value: JsonObject, within: readonly string[], depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        this.count(key.length, within);
        return [key, this.write(member, within, depth + 1)];
      }),
    );
  }

  /** A value that is not searched for references, but counts as copied if it is inside a copy. */
  private unchanged(value: unknown, within: readonly string[]): unknown {
    if (within.length > 0) this.count(JSON.stringify(value).length, within);
    return value;
  }

  private count(size: number, within: readonly string[]): void {
    if (within.length > 0) this.copied += size;
  }

  /** Resolves a JSON pointer into the same schema. */
  private find(reference: string): unknown {
    if (!POINTER.test(reference)) return undefined;
    return valueAtPointer(this.root, decodeURIComponent(reference.slice(2)).split('/'));
  }
}

function hasReference(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return false;
  if (typeof (value as JsonObject)['$ref'] === 'string') return true;
  return Object.values(value).some((member) => hasReference(member, depth + 1));
}

function isKnown(reference: string, siblings: JsonObject): boolean {
  return DEFINITION.test(reference) && Object.keys(siblings).every(isAllowed);
}

function isAllowed(key: string): boolean {
  return key.startsWith('$') || REFERENCE_SIBLINGS.has(key);
}
