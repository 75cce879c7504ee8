import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** In PEM. */
export interface TestCertificate {
  readonly key: string;
  readonly certificate: string;
}

const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const SUBJECT_ALTERNATIVE_NAME = '551d11';
const ONE_DAY_MS = 86_400_000;

/**
 * A self-signed certificate (RFC 5280) of host names and IPv4 addresses, generated on demand: no file in the repository
 * expires.
 */
export function createTestCertificate(hosts: readonly string[]): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = toBeSigned(publicKey, hosts);
  const signature = sign('sha256', body, privateKey);
  const der = sequence(body, algorithm(), bitString(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  };
}

/** Makes TLS of this process trust a certificate; returns a function that reverts this. */
export function trust({ certificate }: TestCertificate): () => void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate]);
  return () => setDefaultCACertificates(before);
}

function toBeSigned(publicKey: KeyObject, hosts: readonly string[]): Buffer {
  // Unique: among trusted certificates of one name, OpenSSL may find another one and refuse this one as self-signed.
  const commonName = element(0x0c, Buffer.from(`test ${randomBytes(8).toString('hex')}`));
  const name = sequence(set(sequence(oid(COMMON_NAME), commonName)));
  const validity = sequence(time(Date.now() - ONE_DAY_MS), time(Date.now() + ONE_DAY_MS));
  const alternatives = sequence(...hosts.map(alternativeName));
  const extensions = sequence(sequence(oid(SUBJECT_ALTERNATIVE_NAME), element(0x04, alternatives)));
  return sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm(),
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, extensions),
  );
}

function alternativeName(host: string): Buffer {
  if (isIP(host) === 4) return element(0x87, Buffer.from(host.split('.').map(Number)));
  return element(0x82, Buffer.from(host));
}

function algorithm(): Buffer {
  return sequence(oid(ECDSA_WITH_SHA256));
}

function bitString(bytes: Buffer): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function time(ms: number): Buffer {
  return element(0x18, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]|\..*/g, '')}Z`));
}

function oid(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'));
}

function set(...elements: Buffer[]): Buffer {
  return element(0x31, Buffer.concat(elements));
}

function sequence(...elements: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(elements));
}

/** Tag, length, value (DER). */
function element(tag: number, value: Buffer): Buffer {
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, value]);
}
