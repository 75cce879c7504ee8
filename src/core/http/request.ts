import type { ServerResponse } from 'node:http';
import { isIPv4 } from 'node:net';
import type { ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppConfig } from '../config/app-config';
import type { GatewayError } from '../errors/gateway-error';
import { AllowedIps } from '../types/allowed-ips';
import { parseIpAddress } from '../types/ip-range';
import type { ClientConnection } from '../types/request-context';
import type { RouteRules } from './route.decorators';

declare module 'fastify' {
  interface FastifyRequest {
    /** The rules of the route. */
    rules: RouteRules;
    /** The raw JSON body, on routes with `@KeepsRawBody()`. */
    rawBody: Buffer | null;
    /** Why the JSON body cannot be passed on unchanged, on routes with `@AcceptsUnfaithful()`. */
    unfaithfulBody: GatewayError | null;
  }
}

/** The request of a guard or interceptor. Cheaper than `switchToHttp()`, which creates three functions per call. */
export function requestOf(context: ExecutionContext): FastifyRequest {
  return context.getArgByIndex<FastifyRequest>(0);
}

export function replyOf(context: ExecutionContext): FastifyReply {
  return context.getArgByIndex<FastifyReply>(1);
}

/** Whether the headers announce a body. */
export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** The connection of the client, as seen by the response to it. */
export class ResponseConnection implements ClientConnection {
  constructor(private readonly response: ServerResponse) {}

  get closed(): boolean {
    return this.response.destroyed;
  }

  onDisconnect(listener: () => void): void {
    this.response.on('close', () => {
      if (!this.response.writableFinished) listener();
    });
  }
}

/** Stands for text that is not an IP address: `unknown` of a proxy, or empty text of a closed connection. */
const UNKNOWN = 'unknown';
const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const IPV4_WITH_PORT = /^([\d.]+):\d+$/;

type TrustProxy = false | ((address: string | undefined, hop: number) => boolean);

/**
 * The canonical client IP address, so that per-address counters count each caller once.
 * @param text from the connection or `X-Forwarded-For`, where some proxies append the port
 * @returns IPv4 or IPv6, an IPv4-mapped address as IPv4; `unknown` for any other text
 */
export function toClientAddress(text: string | undefined): string {
  // The common case needs no rewriting.
  if (text !== undefined && isIPv4(text)) return text;
  return parseIpAddress(withoutPort(text))?.toString() ?? UNKNOWN;
}

/** The proxies that Fastify trusts: behind a trusted proxy, the forwarded address counts. */
export function toTrustProxy(trustProxy: AppConfig['http']['trustProxy']): TrustProxy {
  if (trustProxy === false) return false;
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy;
  const proxies = AllowedIps.parse(trustProxy);
  return (address) => proxies.includes(withoutPort(address));
}

function withoutPort(text = ''): string {
  const [, address] = BRACKETED.exec(text) ?? IPV4_WITH_PORT.exec(text) ?? [];
  return address ?? text;
}
