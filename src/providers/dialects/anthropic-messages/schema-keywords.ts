import { isJsonObject, type JsonObject } from '../../kit/json';
import { unsupported } from '../../kit/unsupported';

/**
 * The formats and keywords that constrained decoding supports
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations). Objects are
 * always closed.
 */
const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);
const KEPT: ReadonlySet<string> = new Set(['type', 'enum', 'const', 'required', '$ref', 'title', 'description']);
const SCHEMAS_BY_NAME: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const SCHEMA_LISTS: ReadonlyMap<string, string> = new Map([
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['allOf', 'allOf'],
]);
/** Keywords that tell the model nothing. */
const DROPPED: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'additionalProperties']);
/** The keywords that a schema with `$ref` keeps. */
const REFERENCE_SIBLINGS: ReadonlySet<string> = new Set(['$ref', '$defs', 'definitions']);
const MAX_DEPTH = 64;

/**
 * A schema for constrained decoding. Keywords that the decoding cannot enforce (lengths, ranges, patterns) are added to
 * the descriptions, which the model reads.
 * @throws ProviderError `validation_failed` for an object with free property names, which would always come out empty
 */
export function toSupportedSchema(schema: JsonObject, path: string, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) throw unsupported(path, 'The schema is nested too deeply for this model.');
  const supported: JsonObject = {};
  const inWords: string[] = [];
  const isReference = schema['$ref'] !== undefined;
  for (const [keyword, value] of Object.entries(schema)) {
    if (isReference && !REFERENCE_SIBLINGS.has(keyword)) continue;
    const at = `${path}.${keyword}`;
    const list = SCHEMA_LISTS.get(keyword);
    if (KEPT.has(keyword)) supported[keyword] = value;
    else if (SCHEMAS_BY_NAME.has(keyword) && isJsonObject(value)) supported[keyword] = each(value, at, depth);
    else if (list !== undefined && Array.isArray(value))
      supported[list] = value.map((one, i) => nested(one, `${at}[${i}]`, depth));
    else if (keyword === 'items') supported[keyword] = nested(value, at, depth);
    else if (isEnforced(keyword, value)) supported[keyword] = value;
    else if (!DROPPED.has(keyword)) inWords.push(`${keyword}: ${JSON.stringify(value)}`);
  }
  if (!isReference && isObjectSchema(schema)) closeObject(supported, schema, path);
  if (inWords.length > 0) {
    const { description } = supported;
    const text = typeof description === 'string' && description !== '' ? `${description}\n\n` : '';
    supported['description'] = `${text}{${inWords.join(', ')}}`;
  }
  return supported;
}

function isEnforced(keyword: string, value: unknown): boolean {
  return keyword === 'format' ? FORMATS.has(value) : keyword === 'minItems' && (value === 0 || value === 1);
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isJsonObject(properties);
}

function closeObject(supported: JsonObject, { additionalProperties: more }: JsonObject, path: string): void {
  if (isJsonObject(more) && Object.keys(more).length > 0) {
    throw unsupported(`${path}.additionalProperties`, 'This model requires schemas that list all properties.');
  }
  supported['additionalProperties'] = false;
}

function each(schemas: JsonObject, path: string, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, nested(schema, `${path}.${name}`, depth)]),
  );
}

/** A boolean schema is left to the upstream. */
function nested(schema: unknown, path: string, depth: number): unknown {
  return isJsonObject(schema) ? toSupportedSchema(schema, path, depth + 1) : schema;
}
