/** Simulates Stripe: an HTTP server that creates Checkout Sessions as scripted, and signs events as Stripe does. */
import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const STRIPE_SECRET_KEY = 'sk_test_of_nobody';
export const STRIPE_WEBHOOK_SECRET = 'whsec_of_nobody';

/** Requests of the gateway, with flattened form fields. */
export interface AskedSession {
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly idempotencyKey: string;
}

type Answer = (asked: AskedSession, reply: ServerResponse) => void | Promise<void>;

export class StripeServer {
  readonly asked: AskedSession[] = [];
  /** Ids of the sessions that were expired. */
  readonly expired: string[] = [];
  /** The same idempotency key returns the same session, as at Stripe. */
  private readonly sessions = new Map<string, string>();
  private answer: Answer = (asked, reply) => this.give(asked, reply);
  private expiry: ((reply: ServerResponse) => void | Promise<void>) | null = null;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<StripeServer> {
    const server = createServer();
    const stripe = new StripeServer(server);
    server.on('request', (request: IncomingMessage, reply: ServerResponse) => void stripe.handle(request, reply));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return stripe;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Settings of a gateway that uses it for payments. */
  get environment(): Record<string, string> {
    return { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, STRIPE_API_BASE_URL: this.url };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  /** Scripts the response to the next session. */
  answerOnce(answer: Answer): void {
    this.answer = async (asked, reply) => {
      this.answer = (each, eachReply) => this.give(each, eachReply);
      await answer(asked, reply);
    };
  }

  /** Scripts the response to the next request to expire a session. */
  expireOnce(answer: (reply: ServerResponse) => void | Promise<void>): void {
    this.expiry = answer;
  }

  private async expire(id: string, reply: ServerResponse): Promise<void> {
    const { expiry } = this;
    this.expiry = null;
    if (expiry !== null) {
      await expiry(reply);
      return;
    }
    this.expired.push(id);
    send(reply, 200, this.sessionNow(id));
  }

  private sessionNow(id: string): object {
    const status = this.expired.includes(id) ? 'expired' : 'complete';
    return { id, object: 'checkout.session', status, livemode: false };
  }

  give({ id, fields }: AskedSession, reply: ServerResponse): void {
    const session = { id, object: 'checkout.session', url: `https://checkout.example.com/${id}`, livemode: false };
    send(reply, 200, { ...session, client_reference_id: fields.client_reference_id });
  }

  private async handle(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, sessionId, action] =
      /^\/v1\/checkout\/sessions(?:\/([^/]+)(?:\/(expire))?)?$/.exec(request.url ?? '') ?? [];
    const isKnown = sessionId !== undefined || request.url === '/v1/checkout/sessions';
    if (request.headers.authorization !== `Bearer ${STRIPE_SECRET_KEY}` || !isKnown) {
      send(reply, 401, { error: { type: 'invalid_request_error', message: 'Invalid API Key' } });
      return;
    }
    if (sessionId !== undefined) {
      if (action === 'expire') await this.expire(sessionId, reply);
      else send(reply, 200, this.sessionNow(sessionId));
      return;
    }
    const idempotencyKey = String(request.headers['idempotency-key']);
    const id = this.sessions.get(idempotencyKey) ?? `cs_test_${randomUUID().replaceAll('-', '')}`;
    this.sessions.set(idempotencyKey, id);
    const fields = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
    const asked = { id, fields, idempotencyKey };
    this.asked.push(asked);
    await this.answer(asked, reply);
  }
}

export function send(reply: ServerResponse, status: number, body: object): void {
  reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** An event as Stripe sends it: body and signature. */
export interface SignedEvent {
  readonly body: string;
  readonly headers: Record<string, string>;
}

export function signEvent(
  type: string,
  object: object,
  { id = `evt_${randomUUID().replaceAll('-', '')}`, secret = STRIPE_WEBHOOK_SECRET, atMs = Date.now() } = {},
): SignedEvent {
  const seconds = Math.floor(atMs / 1_000);
  const body = JSON.stringify({ id, object: 'event', type, created: seconds, livemode: false, data: { object } });
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return { body, headers: { 'stripe-signature': `t=${seconds},v1=${signature}` } };
}

export interface PaidSession {
  readonly purchaseId: string;
  readonly organizationId: string;
  readonly amountMicro: number;
  readonly sessionId: string;
  readonly paymentId?: string;
}

/** The Checkout Session of a paid purchase. */
export function paidSession({ purchaseId, organizationId, amountMicro, sessionId, paymentId }: PaidSession): object {
  return {
    id: sessionId,
    object: 'checkout.session',
    mode: 'payment',
    status: 'complete',
    payment_status: 'paid',
    client_reference_id: purchaseId,
    metadata: { purchase_id: purchaseId, organization_id: organizationId },
    amount_total: amountMicro / 10_000,
    currency: 'usd',
    payment_intent: paymentId ?? `pi_${purchaseId.replaceAll('-', '')}`,
  };
}
