import type { LookupFunction, TcpSocketConnectOpts } from 'node:net';
import {
  connect,
  type ConnectionOptions,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { buildConnector } from 'undici';
import type { AddressPolicy, AddressVerdict } from './address-policy';
import { OutboundError } from './outbound-error';
import type { PinnedAddress } from './public-lookup';
import { literalOf } from './url-rules';

/** The default of Node.js; here the minimum. */
const MIN_ATTEMPT_MS = 250;

export interface Destination {
  readonly url: URL;
  /** The addresses resolved and checked in this call. Empty for an IP literal, which is never looked up. */
  readonly addresses: readonly PinnedAddress[];
}

export interface ConnectorOptions {
  readonly policy: AddressPolicy;
  readonly connectTimeoutMs: number;
  /** Called with the peer of every accepted connection. */
  readonly onConnected: (peer: string, verdict: AddressVerdict) => void;
}

/**
 * Opens TLS connections to one destination only: DNS is not queried again, environment proxies are ignored, and the
 * peer is checked again before any byte is sent.
 */
export function connectorTo(
  { url, addresses }: Destination,
  { policy, connectTimeoutMs, onConnected }: ConnectorOptions,
  signal: AbortSignal,
): buildConnector.connector {
  const literal = literalOf(url.hostname);
  return (_options, callback) => {
    if (signal.aborted || (literal !== null && policy.judge(literal) === 'blocked')) {
      callback(new OutboundError(signal.aborted ? 'failed' : 'blocked'), null);
      return;
    }
    // The types of `tls.connect` lack the options that it passes to `net.connect`.
    const options: ConnectionOptions & TcpSocketConnectOpts = {
      host: literal ?? url.hostname,
      port: Number(url.port || 443),
      // IP addresses are not valid server names (SNI).
      servername: literal === null ? url.hostname : undefined,
      lookup: pinnedLookup(addresses),
      autoSelectFamilyAttemptTimeout: attemptMs(connectTimeoutMs, addresses),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      secureContext: trustOfProcess(),
    };
    const socket = connect(options);
    socket.prependOnceListener('connect', () => {
      const peer = socket.remoteAddress ?? '';
      const verdict = judgePeer(peer, literal, policy);
      if (verdict === 'blocked') socket.destroy(new OutboundError('blocked'));
      else onConnected(peer, verdict);
    });
    socket.setNoDelay(true);
    settle(socket, connectTimeoutMs, signal, callback);
  };
}

let trust: { readonly authorities: readonly string[]; readonly context: SecureContext } | null = null;

/** The certificate authorities of the process. Node.js would read them again for each connection. */
function trustOfProcess(): SecureContext {
  // The same array until the authorities change.
  const authorities = getCACertificates('default');
  if (trust?.authorities !== authorities) trust = { authorities, context: createSecureContext() };
  return trust.context;
}

/**
 * Time for every address but the last, which gets the rest. By default Node.js abandons an attempt after 250 ms to
 * begin the next. A distant host would then be unreachable if its last address is, such as an IPv6 address from an IPv4
 * network.
 */
function attemptMs(connectTimeoutMs: number, { length }: readonly PinnedAddress[]): number {
  return Math.max(MIN_ATTEMPT_MS, Math.floor(connectTimeoutMs / Math.max(1, length)));
}

function judgePeer(peer: string, literal: string | null, policy: AddressPolicy): AddressVerdict {
  return literal === null ? policy.judgeAnswer(peer) : policy.judge(peer);
}

/** Calls back once: with the socket after the TLS handshake, or with the error. */
function settle(
  socket: TLSSocket,
  connectTimeoutMs: number,
  signal: AbortSignal,
  callback: buildConnector.Callback,
): void {
  const giveUp = (): void => void socket.destroy(new OutboundError('failed'));
  const timer = setTimeout(giveUp, connectTimeoutMs);
  const end = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  };
  const onError = (error: Error): void => {
    end();
    callback(error, null);
  };
  signal.addEventListener('abort', giveUp);
  socket.once('error', onError);
  socket.once('secureConnect', () => {
    end();
    socket.off('error', onError);
    callback(null, socket);
  });
}

/** Supports both forms: Node requests all addresses when it may try several, else one. */
export function pinnedLookup(addresses: readonly PinnedAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (first === undefined) callback(new OutboundError('blocked'), []);
    else if (options.all === true) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };
}
