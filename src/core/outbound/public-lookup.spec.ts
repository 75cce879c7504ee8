import { AddressPolicy } from './address-policy';
import { lookUpPublic, resolveByDns } from './public-lookup';

const policy = new AddressPolicy({ allowCidrs: [], denyCidrs: [], nat64: false });
const never = new AbortController().signal;

const lookUp = (answers: readonly string[], signal = never) =>
  lookUpPublic('example.com', async () => answers, policy, signal);

it('returns every address with its family', async () => {
  expect(await lookUp(['8.8.8.8', '2606:4700::1111'])).toEqual([
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]);
});

it.each([
  ['the first', ['127.0.0.1', '8.8.8.8']],
  ['the last', ['8.8.8.8', '1.1.1.1', '169.254.169.254']],
  ['one of the other family', ['8.8.8.8', '::1']],
  ['a mapped one', ['8.8.8.8', '::ffff:127.0.0.1']],
  ['one of NAT64, when disabled', ['64:ff9b::808:808']],
  ['a text that is not an address', ['8.8.8.8', 'localhost']],
  ['the last of a long list', [...Array.from({ length: 99 }, () => '8.8.8.8'), '10.0.0.1']],
])('refuses all answers for one blocked: %s', async (_case, answers) => {
  await expect(lookUp(answers)).rejects.toMatchObject({ fault: 'blocked' });
});

it('refuses more than 64 addresses', async () => {
  const answers = (count: number) => Array.from({ length: count }, (_, index) => `8.8.8.${index}`);
  expect(await lookUp(answers(64))).toHaveLength(64);
  await expect(lookUp(answers(65))).rejects.toMatchObject({ fault: 'failed' });
});

it('fails with the same error for a name without addresses, an unknown name, and a silent resolver', async () => {
  const missing = async () => {
    throw new Error('ENOTFOUND internal.example.com');
  };
  const silent = () => new Promise<readonly string[]>(() => undefined);
  const failures = await Promise.allSettled([
    lookUp([]),
    lookUpPublic('example.com', missing, policy, never),
    lookUpPublic('example.com', silent, policy, AbortSignal.timeout(1)),
    lookUp(['8.8.8.8'], AbortSignal.abort()),
  ]);
  const texts = failures.map((failure) => failure.status === 'rejected' && String(failure.reason));
  expect(new Set(texts)).toEqual(new Set(['OutboundError: The address could not be fetched.']));
});

it('queries DNS only, so that names of the hosts file do not resolve', async () => {
  expect(await resolveByDns('localhost.localdomain', AbortSignal.timeout(60_000))).toEqual([]);
});
