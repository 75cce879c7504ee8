import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import { parseStrictJson } from '../common/json/strict-json';
import type { FormRules } from '../media/takes-form.decorator';
import type { BodyBudget, BodyClaim } from './body-budget';
import { readBody, tooLarge } from './body-reader';
import { boundaryOf } from './form-boundary';
import { FormParser } from './form-parser';
import { readForm } from './form-reader';
import { TurnQueue } from '../common/turn-queue';

/** Bodies from this size on are parsed one per turn of the event loop: a few at once would hold up everybody else. */
const LARGE_BYTES = 256 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** What the body of this request takes of the budget; `null`: it has none, or has not been admitted. */
    bodyClaim: BodyClaim | null;
    /** What its route says of forms; `null`: it takes none, or has not been admitted. */
    formRules: FormRules | null;
    /** The JSON body as it came, on routes that keep it (`@KeepsRawBody()`). */
    rawBody: Buffer | null;
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
  private readonly large = new TurnQueue();

  constructor(
    private readonly budget: BodyBudget,
    private readonly limits: BodyLimits,
  ) {}

  install(server: FastifyInstance): void {
    server.decorateRequest('bodyClaim', null);
    server.decorateRequest('formRules', null);
    server.decorateRequest('rawBody', null);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', (request, payload, done) => this.readJson(request, payload, done));
    server.addContentTypeParser('multipart/form-data', (request, payload, done) =>
      this.readForm(request, payload, done),
    );
  }

  /**
   * Takes the announced length of the body out of the budget, before a byte of it is read, until the request has been
   * answered. Without an announcement nothing is known yet: then the claim grows while it is read.
   * @throws GatewayError `service_unavailable`.
   */
  claim(request: FastifyRequest, reply: FastifyReply, organizationId: string): BodyClaim | null {
    const { headers, formRules } = request;
    const announced = headers['content-length'];
    if (announced === undefined && headers['transfer-encoding'] === undefined) return null;
    const bytes = Number(announced ?? 0);
    const limitBytes = formRules === null ? this.jsonLimitOf(request) : Math.max(this.limits.json, this.limits.form);
    // What is too long will not be read.
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
    readBody(payload, limitBytes, claim, (error, body) => {
      if (body !== undefined && request.routeOptions.config.keepsRawBody === true) request.rawBody = body;
      if (body === undefined) done(error);
      // Some clients name the type of a body in every request, and deletions and many actions of the dashboard have none.
      else if (body.length === 0 && mayBeEmpty(request)) done(null);
      else if (body.length < LARGE_BYTES) parse(body, claim, done);
      else this.large.run(() => parse(body, claim, done));
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

/** What can be told before a byte of the body is read; `null`: nothing is wrong so far. */
function findFault({ headers }: FastifyRequest, limitBytes: number): GatewayError | null {
  const coding = headers['content-encoding'];
  // None is understood: a few bytes of a compressed body can become gigabytes.
  if (coding !== undefined && coding !== 'identity') {
    return new GatewayError('unsupported_media_type', 'A request body must be sent without a Content-Encoding.');
  }
  return Number(headers['content-length']) > limitBytes ? tooLarge() : null;
}

function notAccepted(): GatewayError {
  return new GatewayError('unsupported_media_type', 'This endpoint does not accept the Content-Type of the request.');
}

function parse(body: Buffer, claim: BodyClaim, done: Done): void {
  let value: unknown;
  try {
    value = parseStrictJson(body, (heapBytes) => claim.growTo(heapBytes));
  } catch (error) {
    // Only the verdict is caught: `done` runs the rest of the request.
    done(error as Error);
    return;
  }
  done(null, value);
}
