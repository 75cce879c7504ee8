import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { finalize, type Observable, tap } from 'rxjs';
import { IterationQueue } from '../concurrency/iteration-queue';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { GatewayError } from '../errors/gateway-error';
import { Metrics } from '../observability/metrics/catalogue';
import { parseStrictJson } from '../json/strict-json';
import { type Clock, CLOCK } from '../time/clock';
import type { MultipartForm } from '../types/multipart-form';
import { connectionLost, type RequestMemory } from '../types/request-context';
import { boundaryOf } from './form-headers';
import { FormParser } from './form-parser';
import { readForm, tooLarge } from './form-reader';
import { discardUnreadBody } from './lingering-close';
import { hasBody, replyOf, requestOf } from './request';
import type { FormRules, RouteRules } from './route.decorators';

/** Token of the guard that checks a caller again after a slow body. */
export const CALLER_GUARD = Symbol('CALLER_GUARD');

/**
 * Bodies of at least this size are parsed one per event loop iteration, so that several do not block other requests.
 */
const LARGE_BYTES = 256 * 1024;
/** Maximum age of a verdict when the request runs: revoked access ends within a second. */
const MAX_VERDICT_AGE_MS = 1_000;
/** Methods of this service whose bodies have no meaning. They are not read. */
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Reads the body after all guards have passed: strict JSON, or a form where the route accepts one, within the memory
 * budget. The guards check the caller again when the body took long to arrive.
 */
@Injectable()
export class BodyInterceptor implements NestInterceptor {
  private readonly budget: BodyBudget;
  private readonly maxJsonBytes: number;
  private readonly maxFormBytes: number;
  private readonly largeBodies = new IterationQueue();

  constructor(
    @Inject(APP_CONFIG) { http }: AppConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CALLER_GUARD) private readonly callerGuard: CanActivate,
    metrics: Metrics,
  ) {
    this.budget = new BodyBudget(http.maxBufferedBytes);
    metrics.addSource(() => metrics.bodyBytes.of().set(this.budget.usedBytes));
    this.maxJsonBytes = http.maxRequestBytes;
    this.maxFormBytes = http.maxMultipartBytes;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
    const request = requestOf(context);
    const isRead = !BODYLESS.has(request.method) && (hasBody(request) || request.headers['content-type'] !== undefined);
    if (!isRead) return next.handle();
    const reply = replyOf(context);
    const body = request.rules.optionalBody === true ? this.tryRead(request, reply) : this.read(request, reply);
    return body instanceof Promise
      ? body.then((parsed) => this.proceed(parsed, request, context, next))
      : this.proceed(body, request, context, next);
  }

  /** Returns a promise unless the body has already arrived and is small. */
  private read(request: FastifyRequest, { raw: response }: FastifyReply): unknown {
    this.assertAccepted(request);
    const claim = this.claim(request, response);
    request.context.memory = claim;
    // HTTP/1.0 clients do not understand interim responses.
    if (request.headers.expect !== undefined && request.raw.httpVersion !== '1.0') response.writeContinue();
    return this.parse(request, claim);
  }

  /** Returns `undefined` for a body that other routes would refuse. */
  private async tryRead(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    try {
      return await this.read(request, reply);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      discardUnreadBody(request, reply);
      return undefined;
    }
  }

  private proceed(
    body: unknown,
    request: FastifyRequest,
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    request.body = body;
    const verdictAgeMs = this.clock.monotonic() - request.context.startedAtMs;
    if (verdictAgeMs <= MAX_VERDICT_AGE_MS) return handleWithin(request, next);
    return this.judgeAgain(context).then(() => handleWithin(request, next));
  }

  private async judgeAgain(context: ExecutionContext): Promise<void> {
    await this.callerGuard.canActivate(context);
  }

  /**
   * Claims the announced length of the body before it is read, until the response is sent. Without a Content-Length the
   * claim grows during the read.
   * @throws GatewayError `service_unavailable`.
   */
  private claim(request: FastifyRequest, response: ServerResponse): BodyClaim {
    // The connection closed while a guard waited: its close event, which would release the claim, is over.
    if (request.raw.destroyed) throw connectionLost();
    const announcedBytes = Number(request.headers['content-length'] ?? 0);
    const claim = this.budget.claim(announcedBytes, ownerOf(request));
    response.on('close', () => claim.release());
    return claim;
  }

  /** @throws GatewayError for a request that its headers alone rule out */
  private assertAccepted({ mediaType, rules, raw: { headers } }: FastifyRequest): void {
    const { form } = rules;
    const isJson = mediaType === 'application/json' && (form === undefined || form.json === true);
    const isForm = mediaType === 'multipart/form-data' && form !== undefined;
    if (!isJson && !isForm) {
      throw new GatewayError(
        'unsupported_media_type',
        'This endpoint does not accept the Content-Type of the request.',
      );
    }
    const coding = headers['content-encoding'];
    // No encoding is supported: a small compressed body can expand to gigabytes.
    if (coding !== undefined && coding !== 'identity') {
      throw new GatewayError('unsupported_media_type', 'A request body must be sent without a Content-Encoding.');
    }
    if (Number(headers['content-length']) > (isForm ? this.maxFormBytes : this.maxJsonBytesOf(rules))) throw tooLarge();
  }

  private parse(request: FastifyRequest, claim: BodyClaim): unknown {
    const { form } = request.rules;
    const isForm = form !== undefined && request.mediaType === 'multipart/form-data';
    return isForm ? this.parseForm(request, form, claim) : this.parseJson(request, claim);
  }

  private parseJson(request: FastifyRequest, claim: BodyClaim): unknown {
    const limitBytes = this.maxJsonBytesOf(request.rules);
    const bytes = readBody(request.raw, limitBytes, claim);
    return bytes instanceof Promise
      ? bytes.then((read) => this.parseText(read, request, claim))
      : this.parseText(bytes, request, claim);
  }

  private parseText(body: Buffer, request: FastifyRequest, claim: BodyClaim): unknown {
    const { rules } = request;
    if (rules.keepsRawBody === true) request.rawBody = body;
    // Some clients send a Content-Type with every request, although DELETE requests and many dashboard actions have no
    // body.
    if (body.length === 0 && (request.method === 'DELETE' || rules.session !== undefined)) return undefined;
    const isLarge = body.length >= LARGE_BYTES;
    // The text of a large body stays in memory until it is collected, and once more in the provider request.
    const copiesBytes = isLarge ? body.length : 0;
    const onUnfaithful =
      rules.acceptsUnfaithful === true
        ? (error: GatewayError): void => void (request.unfaithfulBody = error)
        : undefined;
    const parse = (): unknown =>
      parseStrictJson(body, (heapBytes) => claim.growWithCopies(heapBytes, copiesBytes), onUnfaithful);
    return isLarge ? this.largeBodies.add(parse) : parse();
  }

  private async parseForm(
    { raw, headers }: FastifyRequest,
    rules: FormRules,
    claim: BodyClaim,
  ): Promise<MultipartForm> {
    const parser = new FormParser(boundaryOf(headers['content-type'] ?? ''), rules);
    return new Promise((resolve, reject) => {
      readForm(raw, this.maxFormBytes, claim, parser, (error, form) =>
        form === undefined ? reject(error as Error) : resolve(form),
      );
    });
  }

  private maxJsonBytesOf({ maxBodyBytes = this.maxJsonBytes }: RouteRules): number {
    return Math.min(maxBodyBytes, this.maxJsonBytes);
  }
}

/**
 * Work with an idempotency key outlives its connection, and so does work that cannot be aborted. So the claim lasts
 * until the handler has ended, or for a live reply until its promise settles. For small bodies without a key, tracking
 * this is not worth the cost.
 */
function handleWithin({ context: { memory }, headers }: FastifyRequest, next: CallHandler): Observable<unknown> {
  if (!(memory instanceof BodyClaim)) return next.handle();
  if (memory.isSmall && headers['idempotency-key'] === undefined) return next.handle();
  const release = memory.share();
  let produced: Promise<unknown> | null = null;
  return next.handle().pipe(
    tap((value) => {
      if (value instanceof Promise) produced = value;
    }),
    finalize(() => {
      if (produced === null) release();
      else produced.then(release, release);
    }),
  );
}

/** The owner that the memory of the body counts against. Callers without an account share one budget. */
function ownerOf({ context, caller, rules }: FastifyRequest): string {
  return context.principal?.organizationId ?? caller?.userId ?? rules.session ?? 'public';
}

/**
 * Reads a whole body of at most `limitBytes`. Without a Content-Length the claim grows with the received bytes; a
 * Content-Length was checked and claimed before. Bytes after a refusal are discarded.
 * @returns no promise for a body that has already arrived, as small ones do with their headers
 * @throws GatewayError `request_too_large`, `service_unavailable` when the claim cannot grow; or the connection error
 */
function readBody(payload: IncomingMessage, limitBytes: number, claim: BodyClaim): Buffer | Promise<Buffer> {
  return hasArrived(payload) ? (payload.read() as Buffer) : receiveBody(payload, limitBytes, claim);
}

/** Compares lengths, because Node runs the request between the last byte of the body and the end of the message. */
function hasArrived({ readableLength, headers }: IncomingMessage): boolean {
  return readableLength > 0 && readableLength === Number(headers['content-length']);
}

function receiveBody(payload: IncomingMessage, limitBytes: number, claim: BodyClaim): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let receivedBytes = 0;
    const stop = (): void => void payload.off('data', onData).off('end', onEnd).off('error', onError);
    const onError = (error: Error): void => {
      stop();
      reject(error);
    };
    const onEnd = (): void => {
      stop();
      const [first] = chunks;
      // Most bodies arrive in one chunk, which needs no copy.
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks, receivedBytes));
    };
    const onData = (chunk: Buffer): void => {
      receivedBytes += chunk.length;
      if (receivedBytes > limitBytes) {
        onError(tooLarge());
        return;
      }
      try {
        claim.growTo(receivedBytes);
      } catch (error) {
        onError(error as GatewayError);
        return;
      }
      chunks.push(chunk);
    };
    payload.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

/** Requests up to this size may use the whole budget; larger ones must leave an eighth of it free. */
const SMALL_BYTES = 64 * 1024;
const SHARE_OF_LARGE = 7 / 8;
/** The share one organization may use, so that its bodies cannot block those of others. */
const MAX_ORGANIZATION_SHARE = 3 / 4;

interface Owner {
  readonly id: string;
  claims: number;
  usedBytes: number;
}

/**
 * The memory budget for the bodies of all requests in flight, in bytes. A body counts from before its first byte is
 * read until its response is sent, because the parsed value is needed for failover and estimates. Requests that do not
 * fit are refused immediately.
 */
export class BodyBudget {
  private claimedBytes = 0;
  private readonly limitOfLargeBytes: number;
  /** Owners with claims. */
  private readonly owners = new Map<string, Owner>();

  constructor(private readonly limitBytes: number) {
    this.limitOfLargeBytes = Math.floor(limitBytes * SHARE_OF_LARGE);
  }

  /** The maximum for one large request. */
  get limitOfOneBytes(): number {
    return Math.floor(this.limitOfLargeBytes * MAX_ORGANIZATION_SHARE);
  }

  get usedBytes(): number {
    return this.claimedBytes;
  }

  /**
   * @param ownerId the organization that the bytes are charged to.
   * @throws GatewayError `service_unavailable`, with `retry_after` of one second; `validation_failed` as {@link take}
   */
  claim(bytes: number, ownerId: string): BodyClaim {
    const owner = this.owners.get(ownerId) ?? { id: ownerId, claims: 0, usedBytes: 0 };
    this.take(owner, bytes, bytes);
    if (owner.claims++ === 0) this.owners.set(ownerId, owner);
    return new BodyClaim(this, owner, bytes);
  }

  /**
   * Moves a claim to `totalBytes` by taking `moreBytes`.
   * @throws GatewayError `service_unavailable`, or `validation_failed` when it exceeds the maximum of one request.
   */
  take(owner: Owner, moreBytes: number, totalBytes: number): void {
    const limitBytes = totalBytes > SMALL_BYTES ? this.limitOfLargeBytes : this.limitBytes;
    if (totalBytes > limitBytes * MAX_ORGANIZATION_SHARE) {
      throw new GatewayError('validation_failed', 'The request needs more memory than the limit for one request.');
    }
    if (
      this.claimedBytes + moreBytes > limitBytes ||
      owner.usedBytes + moreBytes > limitBytes * MAX_ORGANIZATION_SHARE
    ) {
      throw new GatewayError('service_unavailable', 'The server is receiving too much data. Retry shortly.', {
        retryAfterSeconds: 1,
      });
    }
    this.claimedBytes += moreBytes;
    owner.usedBytes += moreBytes;
  }

  /** Ends a claim. */
  give(owner: Owner, bytes: number): void {
    this.claimedBytes -= bytes;
    owner.usedBytes -= bytes;
    if (--owner.claims === 0) this.owners.delete(owner.id);
  }
}

/** The claim of one request on the budget. */
export class BodyClaim implements RequestMemory {
  private holders = 1;
  private endListeners: (() => void)[] | null = null;

  constructor(
    private readonly budget: BodyBudget,
    private readonly owner: Owner,
    private bytes: number,
  ) {}

  /** Grows the claim to at least `bytes`. @throws GatewayError as {@link BodyBudget.take} */
  growTo(bytes: number): void {
    if (bytes <= this.bytes || this.holders <= 0) return;
    this.budget.take(this.owner, bytes - this.bytes, bytes);
    this.bytes = bytes;
  }

  /**
   * Claims `bytes`, and copies of them up to the limit of one request.
   * @throws GatewayError as {@link BodyBudget.take}
   */
  growWithCopies(bytes: number, copiesBytes: number): void {
    this.growTo(Math.max(bytes, Math.min(bytes + copiesBytes, this.budget.limitOfOneBytes)));
  }

  growBy(bytes: number): void {
    this.growTo(this.bytes + bytes);
  }

  get isSmall(): boolean {
    return this.bytes <= SMALL_BYTES;
  }

  /** Adds a holder; the claim ends with its last holder. @returns a function that ends this hold; call it once */
  share(): () => void {
    this.holders++;
    return () => this.release();
  }

  onEnd(listener: () => void): void {
    if (this.holders <= 0) listener();
    else (this.endListeners ??= []).push(listener);
  }

  /** Ends one hold. */
  release(): void {
    if (--this.holders !== 0) return;
    this.budget.give(this.owner, this.bytes);
    this.endListeners?.forEach((listener) => listener());
  }
}
