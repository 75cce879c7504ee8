import type { ServerResponse } from 'node:http';
import { FakeUpstream, type ReceivedRequest } from '../conformance/fake-upstream';

/** Accepted in place of a signature: https://ai.google.dev/gemini-api/docs/thought-signatures */
const NO_SIGNATURE = 'skip_thought_signature_validator';
const FIELDS = new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig']);
const SETTINGS = new Set([
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'responseMimeType',
  'responseJsonSchema',
  'thinkingConfig',
]);

export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: object };
  readonly functionResponse?: { readonly id?: string; readonly name: string; readonly response: object };
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
}

export interface GeminiRequest {
  readonly contents: readonly { readonly role: string; readonly parts: readonly Part[] }[];
  readonly systemInstruction?: { readonly parts: readonly Part[] };
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A refusal, as Google writes it. */
interface Refusal {
  readonly status: number;
  readonly error: object;
}

/** The parts of an answer, in the pieces in which they are streamed. */
export type Pieces = readonly (readonly Part[])[];

const refuse = (message: string): Refusal => ({
  status: 400,
  error: { code: 400, message, status: 'INVALID_ARGUMENT', details: [] },
});

/**
 * The Gemini API of a model of generation 3.8 or 4 as its documentation describes it: it refuses unknown fields, turns
 * that do not alternate, results that do not match their calls, and calls of the current turn without the signature
 * that it has issued. The script decides what it answers.
 */
export class GeminiUpstream {
  readonly requests: GeminiRequest[] = [];
  script: (request: GeminiRequest) => Pieces | Refusal = () => [[{ text: 'Hello' }]];
  private readonly signatures = new Set<string>();

  private constructor(readonly upstream: FakeUpstream) {
    this.reset();
  }

  /** Forgets the requests and answers by the script again. */
  reset(): void {
    this.requests.length = 0;
    this.upstream.received.length = 0;
    this.upstream.answer = (response, received) => this.answer(response, received);
  }

  static async start(): Promise<GeminiUpstream> {
    return new GeminiUpstream(await FakeUpstream.start());
  }

  private answer(response: ServerResponse, received: ReceivedRequest): void {
    const outcome = this.respond(received);
    const streamed = received.url.endsWith(':streamGenerateContent?alt=sse');
    if ('status' in outcome) {
      response.writeHead(outcome.status, { 'content-type': 'application/json; charset=UTF-8' });
      response.end(JSON.stringify(streamed ? [{ error: outcome.error }] : { error: outcome.error }));
      return;
    }
    if (!streamed) {
      response.setHeader('content-type', 'application/json; charset=UTF-8');
      response.end(JSON.stringify(responseOf(outcome.flat(), 'STOP')));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // The finish reason comes after the calls, in a piece of its own.
    for (const parts of outcome) response.write(eventOf(parts));
    response.end(eventOf([{ text: '' }], 'STOP'));
  }

  private respond({ headers, body, url }: ReceivedRequest): Pieces | Refusal {
    if (headers['x-goog-api-key'] !== 'AIza-e2e' || url.includes('key=')) return refuse('API key not valid.');
    const request = JSON.parse(body) as GeminiRequest;
    this.requests.push(request);
    const fault = this.faultOf(request);
    if (fault !== null) return refuse(fault);
    const answer = this.script(request);
    return Array.isArray(answer) ? this.sign(answer as Pieces) : (answer as Refusal);
  }

  /** The first call of an answer carries the signature of all. */
  private sign(pieces: Pieces): Pieces {
    let isSigned = false;
    return pieces.map((parts) =>
      parts.map((part) => {
        if (part.functionCall === undefined || isSigned) return part;
        isSigned = true;
        const thoughtSignature = Buffer.from(`signature ${this.signatures.size}`).toString('base64');
        this.signatures.add(thoughtSignature);
        return { ...part, thoughtSignature };
      }),
    );
  }

  private faultOf({ contents, generationConfig = {}, ...rest }: GeminiRequest): string | null {
    const unknown = [
      ...Object.keys(rest).filter((field) => !FIELDS.has(field)),
      ...Object.keys(generationConfig).filter((field) => !SETTINGS.has(field)),
    ];
    if (unknown.length > 0) return `Invalid JSON payload received. Unknown name "${unknown[0]}".`;
    const turnStart = contents.findLastIndex(
      ({ role, parts }) => role === 'user' && parts.some(({ functionResponse }) => functionResponse === undefined),
    );
    for (const [index, { role, parts }] of contents.entries()) {
      if (role !== (index % 2 === 0 ? 'user' : 'model')) return 'Please ensure that turns alternate.';
      if (parts.length === 0 || parts.some(({ text }) => text === '')) return 'Parts must not be empty.';
      const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
      const results = (contents[index + 1]?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
      if (calls.length > 0 && JSON.stringify(calls.map(keyOf)) !== JSON.stringify(results.map(keyOf))) {
        return 'Please ensure that function responses match the function calls of the turn before.';
      }
      const signature = parts.find(({ functionCall }) => functionCall !== undefined)?.thoughtSignature;
      const isKnown = signature === NO_SIGNATURE || this.signatures.has(signature ?? '');
      if (calls.length > 0 && index > turnStart && !isKnown) return 'Function call is missing a thought_signature.';
    }
    return contents.at(-1)?.role === 'model' ? 'Requests ending with a model turn are not supported.' : null;
  }
}

function keyOf({ id, name }: { readonly id?: string; readonly name: string }): string {
  return `${id} ${name}`;
}

function eventOf(parts: readonly Part[], finishReason?: string): string {
  return `data: ${JSON.stringify(responseOf(parts, finishReason))}\r\n\r\n`;
}

function responseOf(parts: readonly Part[], finishReason?: string): object {
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...(finishReason && { finishReason }) }],
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 40,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      totalTokenCount: 150,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 100 }],
    },
    modelVersion: 'gemini-3.8-flash-001',
    responseId: 'mA1hbb',
  };
}
