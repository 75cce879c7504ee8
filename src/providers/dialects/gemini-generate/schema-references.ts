import { isJsonObject, type JsonObject } from '../../kit/json';

/** References like these are resolved by the upstream. */
const DEFINITION = /^#\/\$defs\/[^/]+$/;
/** With percent signs in ASCII escapes only. */
const POINTER = /^#\/(?:[^%]|%[0-7][\da-f])*$/i;
/** What may stand beside one of them. */
const BESIDE_REFERENCE: ReadonlySet<string> = new Set(['description', 'default']);
/** Schemas that a schema may copy in place of references; beyond it, it goes as it is. */
const MAX_COPIES = 256;
/** What is nested deeper goes as it is. */
const MAX_DEPTH = 256;

/**
 * A schema whose references the upstream takes. It knows definitions under `$defs` only, and beside a reference nothing
 * but a description and a default (https://ai.google.dev/api/generate-content#GenerationConfig,
 * https://github.com/anomalyco/opencode/issues/12295). Generators of schemas also write `definitions`, pointers into
 * properties, and titles: such references are replaced by a copy of what they mean. Recursive ones are left alone.
 */
export function withKnownReferences(schema: JsonObject): JsonObject {
  const copies = new Copies(schema);
  const written = copies.write(schema, [], 0);
  return copies.made > 0 && copies.made <= MAX_COPIES && isJsonObject(written) ? written : schema;
}

class Copies {
  made = 0;

  constructor(private readonly root: JsonObject) {}

  /** @param within references that `value` is a part of */
  write(value: unknown, within: readonly string[], depth: number): unknown {
    if (depth > MAX_DEPTH) return value;
    if (Array.isArray(value)) return value.map((each: unknown) => this.write(each, within, depth + 1));
    if (!isJsonObject(value)) return value;
    const { $ref: reference, ...beside } = value;
    if (typeof reference !== 'string' || isKnown(reference, beside)) return this.members(value, within, depth);
    const target = within.includes(reference) ? undefined : this.find(reference);
    if (!isJsonObject(target) || ++this.made > MAX_COPIES) return value;
    const copy = this.write(target, [...within, reference], depth + 1);
    return { ...(isJsonObject(copy) ? copy : {}), ...this.members(beside, within, depth) };
  }

  private members(value: JsonObject, within: readonly string[], depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, this.write(member, within, depth + 1)]),
    );
  }

  /** A JSON pointer into the same schema. */
  private find(reference: string): unknown {
    if (!POINTER.test(reference)) return undefined;
    const steps = decodeURIComponent(reference.slice(2)).split('/');
    return steps.reduce<unknown>(
      (at, step) => memberOf(at, step.replaceAll('~1', '/').replaceAll('~0', '~')),
      this.root,
    );
  }
}

function isKnown(reference: string, beside: JsonObject): boolean {
  return DEFINITION.test(reference) && Object.keys(beside).every(isAllowed);
}

function isAllowed(key: string): boolean {
  return key.startsWith('$') || BESIDE_REFERENCE.has(key);
}

function memberOf(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return (value as readonly unknown[])[Number(key)];
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
