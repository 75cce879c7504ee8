/**
 * Responses of a host in OpenAI's format for images and audio, for a {@link FakeUpstream}:
 *
 * upstream.answer = images(2);                       // every call gets two images upstream.answer = script(fault(503),
 * images(1));   // the first call fails, later ones do not upstream.received.length                           // how
 * many calls there have been await formOf(upstream.received[0])                 // the form that a call carried
 *
 * Point `OPENAI_COMPATIBLE_BASE_URL` at `upstream.origin` + `/v1`, and a model of `CATALOG_DIR` at the provider
 * `openai-compatible`.
 */
import { pngFile } from '../harness/png-file';
import type { Answer, ReceivedRequest } from './fake-upstream';

/** A PNG of one pixel, identified by its colour. */
export function tinyPng(colour = 0): Buffer {
  return pngFile({ width: 1, height: 1, type: 0 }, [[colour]]);
}

/** Responses in order; the last one repeats. */
export function script(...answers: readonly [Answer, ...Answer[]]): Answer {
  let calls = 0;
  return (response, request) => answers[Math.min(calls++, answers.length - 1)]?.(response, request);
}

export function json(body: unknown, status = 200): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

/** An error document, as OpenAI writes it. */
export function fault(
  status: number,
  error: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Answer {
  const text = JSON.stringify({ error: { message: 'scripted', type: '', code: null, param: null, ...error } });
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

/** Closes the connection without a response. */
export const disconnect: Answer = (response) => response.destroy();

/** Never responds. */
export const silence: Answer = () => undefined;

const IMAGE_USAGE = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
  output_tokens: 200,
  total_tokens: 250,
};

/** Different images in base64, at once. `usage: null` leaves it out. */
export function images(count: number, usage: object | null = IMAGE_USAGE): Answer {
  const data = Array.from({ length: count }, (_, index) => ({ b64_json: tinyPng(index).toString('base64') }));
  return json({ created: 1_700_000_000, data, ...(usage !== null && { usage }) });
}

/** Image URLs instead of images. */
export function imageUrls(...urls: readonly string[]): Answer {
  return json({ created: 1_700_000_000, data: urls.map((url) => ({ url, revised_prompt: 'a better prompt' })) });
}

/** Audio in one piece. */
export function speech(bytes: Buffer | string = 'ID3 sound', contentType = 'audio/mpeg'): Answer {
  return (response) => response.writeHead(200, { 'content-type': contentType }).end(bytes);
}

/** Audio that breaks off after `bytes`, as from a host that crashes. */
export function brokenSpeech(bytes: Buffer | string, contentType = 'audio/mpeg'): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': contentType });
    response.write(bytes, () => response.destroy());
  };
}

const TRANSCRIPT_USAGE = {
  type: 'tokens',
  input_tokens: 14,
  input_token_details: { text_tokens: 4, audio_tokens: 10 },
  output_tokens: 6,
  total_tokens: 20,
};

/** A transcript in the requested format. */
export function transcript(text = 'Hello there.', usage: object | null = TRANSCRIPT_USAGE): Answer {
  return (response, request) => {
    const [first = '', ...rest] = text.split(' ');
    const verbose = {
      task: 'transcribe',
      language: 'english',
      duration: 2,
      segments: [{ id: 0, seek: 0, start: 0, end: 2, text, tokens: [1], temperature: 0, avg_logprob: -0.1 }],
      words: [
        { word: first, start: 0, end: 1 },
        { word: rest.join(' '), start: 1, end: 2 },
      ],
    };
    const wanted = request.body.includes('verbose_json') ? verbose : {};
    json({ text, ...wanted, ...(usage !== null && { usage }) })(response, request);
  };
}

/** The same as a stream: a delta for every word, and the event that ends it. */
export function transcriptStream(text = 'Hello there.', usage: object | null = TRANSCRIPT_USAGE): Answer {
  const deltas = text.split(/(?= )/).map((delta) => ({ type: 'transcript.text.delta', delta }));
  const done = { type: 'transcript.text.done', text, ...(usage !== null && { usage }) };
  return eventStream(...deltas, done);
}

export function eventStream(...events: readonly unknown[]): Answer {
  const text = events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
  return (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
}

/** Reads a form with the parser of the platform, which is independent of the encoder under test. */
export function formOf(request: ReceivedRequest | undefined): Promise<FormData> {
  const headers = { 'content-type': request?.headers['content-type'] ?? '' };
  return new Response(new Uint8Array(request?.bytes ?? []), { headers }).formData();
}
