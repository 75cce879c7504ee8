import { AssertionError } from 'node:assert';
import type { ValidateFunction } from 'ajv';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { createParser } from 'eventsource-parser';
import {
  childOf,
  DOCUMENT_NAMES,
  documentOf,
  findOperation,
  isObject,
  nodeAt,
  openapiDocument,
  type DocumentName,
  type JsonObject,
  type Node,
} from './openapi-document';

/** A reply as a test received it. Header names in lower case, as Node and Fastify return them. */
export interface ObservedReply {
  readonly method: string;
  /** Path of the request, with or without a query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body: string | Buffer;
  /** `true` for a stream that the test itself aborted: it need not end with `[DONE]`. */
  readonly aborted?: boolean;
}

interface ErrorRow {
  readonly status: number;
  readonly type: string;
  readonly retry: 'no' | 'yes' | 'with-retry-after';
}

const ENVELOPE = '/components/schemas/ErrorEnvelope';
/** Shared by all documents. */
const errorTable = (nodeAt(openapiDocument(), '/components/schemas/ErrorCode/x-error-table')?.value ?? {}) as Record<
  string,
  ErrorRow
>;
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
for (const name of DOCUMENT_NAMES) ajv.addSchema(openapiDocument(name), name);

/**
 * Requires a documented reply: status, headers, content type, body or every event of a stream, and in an error envelope
 * a code that matches the status. An undocumented route must answer with an error envelope.
 * @throws AssertionError that lists all violations.
 */
export function assertMatchesDocument(reply: ObservedReply): void {
  const faults = faultsOf(reply);
  if (faults.length === 0) return;
  const title = `${reply.method} ${reply.path} answered ${reply.status} against the document:`;
  throw new AssertionError({ message: [title, ...faults].join('\n  - '), stackStartFn: assertMatchesDocument });
}

/** ajv's result for a named schema of a document; for tests of request bodies. */
export function schemaValidator(name: string, document: DocumentName = 'openapi'): ValidateFunction {
  return validatorAt(document, `/components/schemas/${name}`);
}

function faultsOf(reply: ObservedReply): string[] {
  return new Judge(documentOf(reply.path)).faultsOf(reply);
}

/** Validates replies against one document. */
class Judge {
  private readonly document: JsonObject;

  constructor(private readonly name: DocumentName) {
    this.document = openapiDocument(name);
  }

  faultsOf(reply: ObservedReply): string[] {
    const operation = findOperation(this.document, reply.method, reply.path);
    if (operation === undefined) {
      if (reply.status < 400) return ['the route is not in the document'];
      return this.checkBody('application/json', ENVELOPE, reply);
    }
    const response = this.responseFor(operation.node, reply.status);
    if (response === undefined) return [`${operation.operationId} does not document status ${reply.status}`];
    return [...this.checkHeaders(response, reply), ...this.checkContent(response, reply)];
  }

  private responseFor(operation: Node, status: number): Node | undefined {
    const range = `${Math.floor(status / 100)}XX`;
    return (
      childOf(this.document, operation, 'responses', String(status)) ??
      childOf(this.document, operation, 'responses', range) ??
      childOf(this.document, operation, 'responses', 'default')
    );
  }

  private checkHeaders(response: Node, { headers }: ObservedReply): string[] {
    const documented = isObject(response.value.headers) ? Object.keys(response.value.headers) : [];
    return documented.flatMap((name) => {
      const header = childOf(this.document, response, 'headers', name);
      const schema = header && childOf(this.document, header, 'schema');
      if (header === undefined || schema === undefined) return [`header ${name} has no schema`];
      const value = headers[name.toLowerCase()];
      if (value === undefined) return header.value.required === true ? [`header ${name} is missing`] : [];
      return this.check(
        schema.pointer,
        schema.value.type === 'integer' ? Number(value) : String(value),
        `header ${name}`,
      );
    });
  }

  private checkContent(response: Node, reply: ObservedReply): string[] {
    const { content } = response.value;
    if (!isObject(content)) return reply.body.length === 0 ? [] : ['the reply has a body'];
    const contentType =
      String(reply.headers['content-type'] ?? '')
        .split(';', 1)[0]
        ?.trim() ?? '';
    const documented = Object.keys(content).find((type) => matchesType(type, contentType));
    if (documented === undefined) return [`content type '${contentType}' is not documented`];
    const schema = childOf(this.document, response, 'content', documented, 'schema');
    return schema === undefined ? [] : this.checkBody(contentType, schema.pointer, reply);
  }

  private checkBody(contentType: string, schema: string, reply: ObservedReply): string[] {
    if (contentType === 'text/event-stream') return this.checkStream(schema, reply);
    if (contentType !== 'application/json') return reply.body.length === 0 ? ['the body is empty'] : [];
    const body = parseJson(String(reply.body));
    if (body === undefined) return ['the body is not JSON'];
    return [...this.check(schema, body, 'body'), ...(reply.status >= 400 ? checkEnvelope(body, reply) : [])];
  }

  private checkStream(schema: string, reply: ObservedReply): string[] {
    const events: string[] = [];
    createParser({ onEvent: ({ data }) => events.push(data) }).feed(String(reply.body));
    const faults: string[] = [];
    const end = events.indexOf('[DONE]');
    if (end === -1 ? reply.aborted !== true : end !== events.length - 1)
      faults.push('[DONE] is not the last event, once');
    for (const [index, data] of events.entries()) {
      if (data === '[DONE]') continue;
      const event = parseJson(data);
      const label = `event ${index}`;
      if (event === undefined) faults.push(`${label} is not JSON`);
      else {
        faults.push(...this.check(schema, event, label));
        if (isObject(event) && 'error' in event) faults.push(...checkCode(event));
      }
    }
    return faults;
  }

  private check(pointer: string, value: unknown, label: string): string[] {
    const validate = validatorAt(this.name, pointer);
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      return `${label}${instancePath} ${message ?? 'is not valid'} ${JSON.stringify(params)}`;
    });
  }
}

function matchesType(documented: string, actual: string): boolean {
  return documented.endsWith('/*') ? actual.startsWith(documented.slice(0, -1)) : documented === actual;
}

/** Checks beyond the schema: the envelope agrees with the status line, the headers and the error table. */
function checkEnvelope(body: unknown, { status, headers }: ObservedReply): string[] {
  const error = isObject(body) && isObject(body.error) ? body.error : undefined;
  if (error === undefined) return [];
  const row = errorTable[String(error.code)];
  const isOutcomeUnknown = isObject(error.details) && error.details.reason === 'outcome_unknown';
  const mayRetry = row?.retry === 'yes' || (row?.retry === 'with-retry-after' && error.retry_after !== undefined);
  const retry = mayRetry && !isOutcomeUnknown;
  const agreements: readonly (readonly [string, unknown, unknown])[] = [
    // A refused range has the HTTP status 416; the contract has no code with that status.
    ['status', status, status === 416 && error.code === 'validation_failed' ? 416 : row?.status],
    ['x-request-id', headers['x-request-id'], error.request_id],
    ['retry-after', String(headers['retry-after'] ?? ''), String(error.retry_after ?? '')],
    ['x-should-retry', String(headers['x-should-retry']), String(retry)],
  ];
  const disagreements = agreements.filter(([, actual, expected]) => actual !== expected);
  return [
    ...disagreements.map(
      ([name, actual, expected]) => `${name} is ${String(actual)}, the envelope says ${String(expected)}`,
    ),
    ...checkCode(body),
  ];
}

function checkCode(body: unknown): string[] {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const row = errorTable[String(error.code)];
  return row?.type === error.type ? [] : [`code ${String(error.code)} does not go with type ${String(error.type)}`];
}

/** ajv compiles each pointer once and keeps it. */
export function validatorAt(name: DocumentName, pointer: string): ValidateFunction {
  const steps = pointer.split('/').map(encodeURIComponent);
  const validate = ajv.getSchema(`${name}#${steps.join('/')}`);
  if (validate === undefined) throw new Error(`the document ${name} has nothing at ${pointer}`);
  return validate;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
