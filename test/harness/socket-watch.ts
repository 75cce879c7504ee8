/**
 * Checks `src/core/outbound` in every test file: it must not open a socket to a non-public address. This file defines
 * public addresses independently, so that one mistake does not hide the other. Ports of test servers that simulate
 * public hosts are exempt.
 */
import { BlockList, isIPv6, Socket } from 'node:net';

export interface SocketAttempt {
  readonly address: string;
  readonly port: number;
}

/** Kept on the shared prototype: test files of one worker have separate modules, but the same sockets. */
interface WatchState {
  attempts: SocketAttempt[];
  readonly testPorts: Set<number>;
}

const STATE = Symbol.for('gateway.socket-watch');
const OUTBOUND_FILE = /[\\/]src[\\/]core[\\/]outbound[\\/](?!.*\.spec\.)/;

const prototype = Socket.prototype as Socket & { [STATE]?: WatchState };
const state = (prototype[STATE] ??= install());

/** Connection attempts since the last call, from code in `src/core/outbound` only, including those to test servers. */
export function takeAttempts(): SocketAttempt[] {
  return state.attempts.splice(0);
}

/** The server on this port of 127.0.0.1 simulates a public one. */
export function exceptTestServer(port: number): void {
  state.testPorts.add(port);
}

/** Attempts to connect to a non-public address. After each test there must be none. */
export function isForbidden({ address, port }: SocketAttempt): boolean {
  if (address === '127.0.0.1' && state.testPorts.has(port)) return false;
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  return BLOCKED.check(address, family) || (family === 'ipv6' && !GLOBAL_IPV6.check(address, 'ipv6'));
}

afterEach(() => {
  const forbidden = takeAttempts().filter(isForbidden);
  if (forbidden.length > 0) throw new Error(`src/core/outbound opened sockets to ${JSON.stringify(forbidden)}`);
});

function install(): WatchState {
  const installed: WatchState = { attempts: [], testPorts: new Set() };
  const connect = Socket.prototype.connect;
  Socket.prototype.connect = function (this: Socket, ...parameters: unknown[]) {
    if (isOutbound()) this.on('connectionAttempt', (address, port) => installed.attempts.push({ address, port }));
    return Reflect.apply(connect, this, parameters) as Socket;
  } as typeof connect;
  return installed;
}

/** Reads the raw stack: source map translation would slow down every connection of every test. */
function isOutbound(): boolean {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = 30;
  Error.prepareStackTrace = (_error, frames) => frames.some((frame) => OUTBOUND_FILE.test(frame.getFileName() ?? ''));
  const outbound: unknown = new Error('where from').stack;
  Object.assign(Error, { stackTraceLimit, prepareStackTrace });
  return outbound === true;
}

const GLOBAL_IPV6 = new BlockList();
GLOBAL_IPV6.addSubnet('2000::', 3, 'ipv6');
const BLOCKED = new BlockList();
for (const range of `
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
  192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
  203.0.113.0/24 224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20
`.matchAll(/(\S+)\/(\d+)/g)) {
  const [, network = '', bits] = range;
  BLOCKED.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4');
}
