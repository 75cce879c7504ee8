import { promises as dns } from 'node:dns';
import { isIPv6 } from 'node:net';
import type { AddressPolicy } from './address-policy';
import { OutboundError } from './outbound-error';

/** Nobody has more; a long list is an attempt to keep us busy. */
const MAX_ANSWERS = 64;

/** All addresses of a name, of both families; rejects, or gives none, when it has none. May stop when aborted. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface PinnedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * The addresses that a name may be connected to. One blocked answer refuses all: who mixes them means the blocked one.
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

/** Resolvers need not heed the signal: nobody waits longer than it says. */
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

/** Two tries of a server that does not answer, within the time that a look-up gets. */
const RESOLVER = { timeout: 600, tries: 2 };

/**
 * Asks DNS itself: no hosts file and no search list, both of which speak of the network that the gateway is in, and no
 * thread of the pool that a silent server could hold up.
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
