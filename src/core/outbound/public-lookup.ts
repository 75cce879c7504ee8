import { promises as dns } from 'node:dns';
import { isIPv6 } from 'node:net';
import type { AddressPolicy } from './address-policy';
import { OutboundError } from './outbound-error';

/** Legitimate hosts have fewer; a long list is an attack. */
const MAX_ANSWERS = 64;

/** All addresses of a name, of both families; rejects or returns none when it has none. May stop when aborted. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface PinnedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * The allowed addresses of a name. One blocked answer refuses all: a mix indicates an attack.
 * @throws OutboundError `blocked`; `failed` when there is no usable answer.
 */
export async function lookUpPublic(
  hostname: string,
  resolve: Resolve,
  policy: AddressPolicy,
  signal: AbortSignal,
): Promise<readonly PinnedAddress[]> {
  const answers = await answersFor(hostname, resolve, signal);
  if (answers.some((answer) => policy.judgeAnswer(answer) === 'blocked')) throw new OutboundError('blocked');
  if (answers.length === 0 || answers.length > MAX_ANSWERS) throw new OutboundError('failed');
  return answers.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
}

/** Resolvers may ignore the signal, so the wait ends with it anyway. */
async function answersFor(hostname: string, resolve: Resolve, signal: AbortSignal): Promise<readonly string[]> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    return await Promise.race([resolve(hostname, signal), aborted]);
  } catch (cause) {
    throw new OutboundError('failed', { cause });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Two tries of a silent server, within the lookup timeout. */
const RESOLVER = { timeout: 600, tries: 2 };

/**
 * Queries DNS directly: without the hosts file and search list, which expose the internal network, and without the
 * thread pool, which a silent server could block.
 */
export const resolveByDns: Resolve = async (hostname, signal) => {
  const resolver = new dns.Resolver(RESOLVER);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const families = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    return families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};
