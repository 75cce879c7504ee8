import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors/gateway-error';
import { parseStrictJson } from '../json/strict-json';
import type { FormRules } from './takes-form.decorator';
import type { BodyBudget, BodyClaim } from './body-budget';
import { readBody, tooLarge } from './body-reader';
import { boundaryOf } from './form-boundary';
import { FormParser } from './form-parser';
import { readForm } from './form-reader';
import { IterationQueue } from '../concurrency/iteration-queue';

/**
 * Bodies of at least this size are parsed one per event loop iteration, so that several do not block other requests.
 */
const LARGE_BYTES = 256 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** The budget claim of the body; `null`: no body, or not admitted yet. */
    bodyClaim: BodyClaim | null;
    /** The form rules of the route; `null`: it takes no form, or the request is not admitted yet. */
    formRules: FormRules | null;
    /** The raw JSON body, on routes with `@KeepsRawBody()`. */
    rawBody: Buffer | null;
    /** Why the JSON body cannot be passed on unchanged, on routes with `@AcceptsUnfaithful()`. */
    unfaithfulBody: GatewayError | null;
  }
}

type Done = (error: Error | null, body?: unknown) => void;

/** Largest bodies in bytes. */
export interface BodyLimits {
  readonly json: number;
  readonly form: number;
}

/** Strict JSON, and forms where a route takes them, within a budget of memory. Any other content type ends here. */
export class BodyParser {
  private readonly large = new IterationQueue();

  constructor(
    private readonly budget: BodyBudget,
    private readonly limits: BodyLimits,
  ) {}

  install(server: FastifyInstance): void {
    server.decorateRequest('bodyClaim', null);
    server.decorateRequest('formRules', null);
    server.decorateRequest('rawBody', null);
    server.decorateRequest('unfaithfulBody', null);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', (request, payload, done) => this.readJson(request, payload, done));
    server.addContentTypeParser('multipart/form-data', (request, payload, done) =>
      this.readForm(request, payload, done),
    );
  }

  /**
   * Claims the announced length of the body before it is read, until the response is sent. Without a Content-Length the
   * claim grows during the read.
   * @throws GatewayError `service_unavailable`.
   */
  claim(request: FastifyRequest, reply: FastifyReply, organizationId: string): BodyClaim | null {
    const { headers, formRules } = request;
    const announced = headers['content-length'];
    if (announced === undefined && headers['transfer-encoding'] === undefined) return null;
    const bytes = Number(announced ?? 0);
    const limitBytes = formRules === null ? this.jsonLimitOf(request) : Math.max(this.limits.json, this.limits.form);
    // A body over the limit is not read.
    const claim = this.budget.claim(bytes > limitBytes ? 0 : bytes, organizationId);
    reply.raw.on('close', () => claim.release());
    return claim;
  }

  private readJson(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    const { formRules } = request;
    const limitBytes = this.jsonLimitOf(request);
    const fault = formRules !== null && formRules.json !== true ? notAccepted() : findFault(request, limitBytes);
    if (fault !== null) {
      done(fault);
      return;
    }
    const claim = this.claimOf(request);
    const { acceptsUnfaithful } = request.routeOptions.config;
    const onUnfaithful =
      acceptsUnfaithful === true ? (error: GatewayError): void => void (request.unfaithfulBody = error) : undefined;
    readBody(payload, limitBytes, claim, (error, body) => {
      if (body !== undefined && request.routeOptions.config.keepsRawBody === true) request.rawBody = body;
      if (body === undefined) done(error);
      // Some clients send a Content-Type with every request, although DELETE requests and many dashboard actions have
      // no body.
      else if (body.length === 0 && mayBeEmpty(request)) done(null);
      else if (body.length < LARGE_BYTES) parse(body, claim, onUnfaithful, done);
      else void this.large.add(() => parse(body, claim, onUnfaithful, done));
    });
  }

  private readForm(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
    const { formRules } = request;
    const fault = formRules === null ? notAccepted() : findFault(request, this.limits.form);
    if (formRules === null || fault !== null) {
      done(fault);
      return;
    }
    let parser: FormParser;
    try {
      parser = new FormParser(boundaryOf(request.headers['content-type'] ?? ''), formRules);
    } catch (error) {
      done(error as Error);
      return;
    }
    readForm(payload, this.limits.form, this.claimOf(request), parser, done);
  }

  private jsonLimitOf({ routeOptions }: FastifyRequest): number {
    return Math.min(routeOptions.config.maxBodyBytes ?? this.limits.json, this.limits.json);
  }

  private claimOf({ bodyClaim }: FastifyRequest): BodyClaim {
    return bodyClaim ?? this.budget.claim(0, '');
  }
}

function mayBeEmpty({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'DELETE' || routeOptions.config.access !== undefined;
}

/** The refusal known from the headers; `null`: none. */
function findFault({ headers }: FastifyRequest, limitBytes: number): GatewayError | null {
  const coding = headers['content-encoding'];
  // No encoding is supported: a small compressed body can expand to gigabytes.
  if (coding !== undefined && coding !== 'identity') {
    return new GatewayError('unsupported_media_type', 'A request body must be sent without a Content-Encoding.');
  }
  return Number(headers['content-length']) > limitBytes ? tooLarge() : null;
}

function notAccepted(): GatewayError {
  return new GatewayError('unsupported_media_type', 'This endpoint does not accept the Content-Type of the request.');
}

function parse(
  body: Buffer,
  claim: BodyClaim,
  onUnfaithful: ((error: GatewayError) => void) | undefined,
  done: Done,
): void {
  let value: unknown;
  try {
    // The text of a large body stays in memory until it is collected, and once more in the provider request.
    const copiesBytes = body.length < LARGE_BYTES ? 0 : body.length;
    value = parseStrictJson(body, (heapBytes) => claim.growWithCopies(heapBytes, copiesBytes), onUnfaithful);
  } catch (error) {
    // Only the verdict is caught: `done` runs the rest of the request.
    done(error as Error);
    return;
  }
  done(null, value);
}
