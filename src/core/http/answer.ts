import type { Readable } from 'node:stream';
import type { GatewayError } from '../errors/gateway-error';
import type { Micro } from '../types/micro';

/** What a controller returns for `CostHeadersInterceptor` to send. */
export type Answer = Json | Bytes | EventStream;

export const JSON_TYPE = 'application/json; charset=utf-8';
export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8';

/** Last event of every stream. */
export const DONE = 'data: [DONE]\n\n';

/** An event with a JSON value as data. */
export function eventOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** The serving model and the cost, for `X-LLM-Model` and `X-LLM-Cost-Micro`. */
export interface Billed {
  readonly modelId: string;
  readonly costMicro: Micro;
}

export interface AnswerHead {
  /** Default: the status of the route. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly billed?: Billed;
}

/** A complete JSON document, already serialized. */
export class Json {
  constructor(
    readonly text: string,
    readonly head: AnswerHead = {},
  ) {}
}

/** `null`: no body. Pieces and readable streams are sent with back-pressure; a producer writes to the client itself. */
export type ByteContent = string | Buffer | readonly Buffer[] | Readable | LiveBytes | null;

/** A body of any type: a file, text, or a long document in pieces. */
export class Bytes {
  constructor(
    readonly content: ByteContent,
    readonly contentType: string | null,
    readonly head: AnswerHead = {},
  ) {}
}

/** Receives bytes with back-pressure. */
export interface ByteSink {
  /** `false`: wait for `drained` before writing more. */
  write(bytes: string | Buffer): boolean;
  drained(): Promise<void>;
}

/** The client side of a response that is sent while it is produced. */
export interface LiveOutput extends ByteSink {
  /** Whether the headers were sent: afterwards a failure has no status code. */
  readonly started: boolean;
  /** Sends the headers. Idempotent. */
  start(): void;
  /** Sends the headers before the first data, where the format benefits from it. */
  startEarly(): void;
  /** Ends a complete response after the charge is committed. `last` is empty for formats without final events. */
  finish(last: string): void;
  /** Ends a started response so that the client sees that it is incomplete. */
  fail(failure: GatewayError): void;
  /** Stops timers after a disconnect. */
  abandon(): void;
}

/** A response that is sent while it is produced. */
interface LiveContent {
  /** Writes the response. Rejects only while `output` has not started. */
  produce(output: LiveOutput): Promise<void>;
  /** Read when the headers are sent: by then the serving model is known. */
  billed(): Billed;
}

/** Raw bytes such as audio, sent while they are produced. */
export class LiveBytes implements LiveContent {
  constructor(
    readonly produce: LiveContent['produce'],
    readonly billed: LiveContent['billed'],
  ) {}
}

/** Server-sent events, sent while they are produced; `[DONE]` follows the last one. */
export class EventStream implements LiveContent {
  constructor(
    readonly produce: LiveContent['produce'],
    readonly billed: LiveContent['billed'],
    /** The events that report a failure in mid-stream. */
    readonly failureEvents: (failure: GatewayError) => string,
  ) {}
}
