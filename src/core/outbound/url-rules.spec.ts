import { MALFORMED_URLS, PRIVATE_HOSTS, PUBLIC_URLS } from '../../../test/harness/address-spellings';
import { AddressPolicy } from './address-policy';
import { OutboundError } from './outbound-error';
import { literalOf, UrlRules } from './url-rules';

const policy = new AddressPolicy({ allowCidrs: [], denyCidrs: [], nat64: false });
const rules = new UrlRules(policy, []);

/** The verdict in a word. */
function judge(text: unknown, by = rules): string {
  try {
    return by.parse(text).href;
  } catch (error) {
    if (error instanceof OutboundError) return error.fault;
    throw error;
  }
}

it('covers more than 250 spellings', () => {
  expect(new Set([...PRIVATE_HOSTS, ...MALFORMED_URLS]).size).toBeGreaterThan(250);
});

describe('a host that is not public', () => {
  // An umlaut makes it a different name, which is blocked because it has no dot.
  it.each(PRIVATE_HOSTS)('%s is blocked', (host) => {
    expect(judge(`https://${host}/`)).toBe('blocked');
  });

  it('is blocked at every port and with any path, query and fragment', () => {
    const around = [':443', ':8443', '/a.png', '?a=b', '#a', ':1/', '/../x'];
    const wrong = PRIVATE_HOSTS.flatMap((host) => around.map((rest) => `https://${host}${rest}`)).filter(
      (url) => judge(url) !== 'blocked',
    );
    expect(wrong).toEqual([]);
  });

  it.each([
    'http://127.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'https://user@127.0.0.1/',
    'https://a:b@localhost/',
  ])('%s is reported as blocked before other faults', (url) => expect(judge(url)).toBe('blocked'));
});

describe('text that is not an https URL', () => {
  it.each(MALFORMED_URLS.map((url) => [url]))('%j is malformed', (url) => {
    expect(judge(url)).toBe('malformed');
  });
});

describe('a public host', () => {
  it.each(PUBLIC_URLS)('%s passes', (url) => {
    expect(judge(url)).toMatch(/^https:\/\/[^/]/);
  });

  it('is returned in normalized form', () => {
    expect(judge('https://EXAMPLE.com.:8443/a')).toBe('https://example.com:8443/a');
    expect(judge('https://134744072/')).toBe('https://8.8.8.8/');
  });

  it.each([1, 22, 25, 53, 587, 6000, 6667, 10_080])('is refused at port %s of another protocol', (port) => {
    expect(judge(`https://example.com:${port}/`)).toBe('blocked');
  });
});

describe('the lists of the operator', () => {
  const own = new AddressPolicy({ allowCidrs: ['10.1.0.0/16'], denyCidrs: ['8.8.8.8'], nat64: true });
  const listed = new UrlRules(own, ['gateway.example.com', 'bare']);

  it.each([
    ['https://10.1.2.3/', 'https://10.1.2.3/'],
    ['https://10.2.0.1/', 'blocked'],
    ['https://[::ffff:10.1.2.3]/', 'blocked'],
    ['http://10.1.2.3/', 'malformed'],
    ['https://8.8.8.8/', 'blocked'],
    ['https://[64:ff9b::808:404]/', 'blocked'],
    ['https://gateway.example.com/', 'blocked'],
    ['https://GATEWAY.example.com./', 'blocked'],
    ['https://a.gateway.example.com/', 'blocked'],
    ['https://mygateway.example.com/', 'https://mygateway.example.com/'],
    ['https://www.bare/', 'blocked'],
    ['https://redis.local/', 'blocked'],
  ])('%s: %s', (url, verdict) => {
    expect(judge(url, listed)).toBe(verdict);
  });
});

describe('literalOf', () => {
  it.each([
    ['https://[::1]/', '::1'],
    ['https://0x7f.1/', '127.0.0.1'],
    ['https://example.com/', null],
  ])('%s: %s', (url, literal) => {
    expect(literalOf(new URL(url).hostname)).toBe(literal);
  });
});
