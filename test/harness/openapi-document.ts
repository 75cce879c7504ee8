import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';

/** The bundle as data, with lookups. `openapi-validator.ts` validates replies. */

export type JsonObject = Record<string, unknown>;

/** A node of the document and its JSON pointer, `$ref`s resolved. */
export interface Node {
  readonly pointer: string;
  readonly value: JsonObject;
}

export interface Operation {
  /** In upper case. */
  readonly method: string;
  /** As in the document, for example `/v1/jobs/{id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly node: Node;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];

/** `openapi` is the document of `/v1`. */
export const DOCUMENT_NAMES = ['openapi', 'dashboard'] as const;
export type DocumentName = (typeof DOCUMENT_NAMES)[number];

const bundles = new Map<DocumentName, JsonObject>();

/** A committed bundle, read once. */
export function openapiDocument(name: DocumentName = 'openapi'): JsonObject {
  let bundle = bundles.get(name);
  if (bundle === undefined) {
    bundle = load(readFileSync(join(__dirname, `../../src/contract/${name}.yaml`), 'utf8')) as JsonObject;
    bundles.set(name, bundle);
  }
  return bundle;
}

/** The document that describes a path. */
export function documentOf(path: string): DocumentName {
  return /^\/(?:$|\?|dashboard(?:[/?]|$))/.test(path) ? 'dashboard' : 'openapi';
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The node at a pointer; `undefined` when there is none. */
export function nodeAt(document: JsonObject, pointer: string): Node | undefined {
  let value: unknown = document;
  for (const step of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as JsonObject)[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (!isObject(value)) return undefined;
  return typeof value.$ref === 'string' ? nodeAt(document, value.$ref.slice(1)) : { pointer, value };
}

export function childOf(document: JsonObject, parent: Node, ...steps: readonly string[]): Node | undefined {
  const escaped = steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
  return nodeAt(document, [parent.pointer, ...escaped].join('/'));
}

const operationsByDocument = new WeakMap<JsonObject, readonly Operation[]>();

/** Every operation of the document except webhooks, which the gateway sends. */
export function operationsOf(document: JsonObject): readonly Operation[] {
  let operations = operationsByDocument.get(document);
  if (operations === undefined) operationsByDocument.set(document, (operations = readOperations(document)));
  return operations;
}

function readOperations(document: JsonObject): readonly Operation[] {
  const paths = isObject(document.paths) ? document.paths : {};
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => isObject(item) && method in item).map((method) => {
      const node = childOf(document, { pointer: '', value: document }, 'paths', path, method);
      if (node === undefined) throw new Error(`${method} ${path} is not an object`);
      return { method: method.toUpperCase(), path, operationId: String(node.value.operationId), node };
    }),
  );
}

/**
 * The operation of a request line. A literal path takes precedence over one with parameters; `{id}` of models spans
 * slashes.
 */
export function findOperation(document: JsonObject, method: string, url: string): Operation | undefined {
  const [path = ''] = url.split('?');
  const candidates = operationsOf(document).filter((operation) => operation.method === method.toUpperCase());
  return (
    candidates.find((operation) => operation.path === path) ??
    candidates.find((operation) => patternOf(document, operation).test(path))
  );
}

function patternOf(document: JsonObject, operation: Operation): RegExp {
  const parameters = Array.isArray(operation.node.value.parameters) ? operation.node.value.parameters : [];
  const spansSlashes = parameters.some(
    (_parameter, index) =>
      childOf(document, operation.node, 'parameters', String(index))?.value['x-allow-slash'] === true,
  );
  const literal = operation.path.replaceAll('.', String.raw`\.`);
  return new RegExp(`^${literal.replaceAll(/\{[^}]+\}/g, spansSlashes ? '.+' : '[^/]+')}$`);
}
