import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../common/errors/gateway-error';
import { parseStrictJson } from '../common/json/strict-json';
import type { BodyBudget, BodyClaim } from './body-budget';
import { readBody, tooLarge } from './body-reader';
import { TurnQueue } from './turn-queue';

/** Bodies from this size on are parsed one per turn of the event loop: a few at once would hold up everybody else. */
const LARGE_BYTES = 256 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** What the body of this request takes of the budget; `null`: it has none, or has not been admitted. */
    bodyClaim: BodyClaim | null;
  }
}

/** Strict JSON within a budget of memory. Any other content type ends here, unless a route brings its own parser. */
export class BodyParser {
  private readonly large = new TurnQueue();

  constructor(
    private readonly budget: BodyBudget,
    private readonly limitBytes: number,
  ) {}

  install(server: FastifyInstance): void {
    server.decorateRequest('bodyClaim', null);
    server.removeAllContentTypeParsers();
    server.addContentTypeParser('application/json', (request, payload, done) => this.read(request, payload, done));
  }

  /**
   * Takes the announced length of the body out of the budget, before a byte of it is read, until the request has been
   * answered. Without an announcement nothing is known yet: then the claim grows while it is read.
   * @throws GatewayError `service_unavailable`.
   */
  claim({ headers }: FastifyRequest, reply: FastifyReply, organizationId: string): BodyClaim | null {
    const announced = headers['content-length'];
    if (announced === undefined && headers['transfer-encoding'] === undefined) return null;
    const bytes = Number(announced ?? 0);
    // What is too long will not be read.
    const claim = this.budget.claim(bytes > this.limitBytes ? 0 : bytes, organizationId);
    reply.raw.on('close', () => claim.release());
    return claim;
  }

  private read(
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (error: Error | null, body?: unknown) => void,
  ): void {
    const { headers } = request;
    try {
      refuseContentCoding(headers['content-encoding']);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (Number(headers['content-length']) > this.limitBytes) {
      done(tooLarge());
      return;
    }
    const claim = request.bodyClaim ?? this.budget.claim(0, '');
    readBody(payload, this.limitBytes, claim, (error, body) => {
      if (body === undefined) done(error);
      else if (body.length < LARGE_BYTES) parse(body, claim, done);
      else this.large.run(() => parse(body, claim, done));
    });
  }
}

function parse(body: Buffer, claim: BodyClaim, done: (error: Error | null, value?: unknown) => void): void {
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

/** None is understood: a few bytes of a compressed body can become gigabytes. */
function refuseContentCoding(coding: string | undefined): void {
  if (coding === undefined || coding === 'identity') return;
  throw new GatewayError('unsupported_media_type', 'A request body must be sent without a Content-Encoding.');
}
