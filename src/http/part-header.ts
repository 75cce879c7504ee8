import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../common/errors/gateway-error';
import { readParameters } from './form-boundary';

const MAX_LINES = 16;
const MAX_NAME_BYTES = 100;

/** What one part of a form says of itself. */
export interface PartHeader {
  /** Field name without a trailing `[]`. */
  readonly name: string;
  /** It was sent with a file name, which is all that is told of that. */
  readonly named: boolean;
  /** Small letters, without parameters; `null` when the part does not say. */
  readonly contentType: string | null;
  /** Of its text; `null` when the part does not say. */
  readonly charset: string | null;
}

/**
 * Reads the header section of a part, without the empty line at its end. Strict: what another reader could understand
 * otherwise is refused, not skipped.
 * @throws GatewayError `validation_failed`.
 */
export function readPartHeader(bytes: Buffer): PartHeader {
  if (!isUtf8(bytes)) throw malformed('has a header that is not valid UTF-8');
  const lines = bytes.toString('utf8').split('\r\n', MAX_LINES + 1);
  if (lines.length > MAX_LINES) throw malformed(`has more than ${MAX_LINES} headers`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):((?:\t|\P{Cc})*)$/u.exec(line) ?? [];
    if (name === undefined || value === undefined) throw malformed('has a header that is not well-formed');
    if (headers.has(name.toLowerCase())) throw malformed('has a header twice');
    headers.set(name.toLowerCase(), value.trim());
  }
  refuseTransferEncoding(headers.get('content-transfer-encoding'));
  return { ...readDisposition(headers.get('content-disposition')), ...readContentType(headers.get('content-type')) };
}

function readDisposition(value: string | undefined): Pick<PartHeader, 'name' | 'named'> {
  const parameters = value !== undefined && /^form-data\s*(;|$)/i.test(value) ? readParameters(value, 9) : null;
  const name = parameters?.get('name')?.replace(/\[\]$/, '');
  if (!name) throw malformed('has no Content-Disposition that names its field');
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw malformed(`has a name of more than ${MAX_NAME_BYTES} bytes`);
  return { name, named: parameters?.has('filename') === true || parameters?.has('filename*') === true };
}

function readContentType(value: string | undefined): Pick<PartHeader, 'contentType' | 'charset'> {
  if (!value) return { contentType: null, charset: null };
  const [type = ''] = value.split(';', 1);
  if (!/^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*$/.test(type)) throw malformed('has a bad Content-Type');
  const charset = readParameters(value, type.length)?.get('charset')?.toLowerCase() ?? null;
  return { contentType: type.trimEnd().toLowerCase(), charset };
}

/** Encoded files are not decoded (RFC 7578 dropped it); taken as they are they would mean something else. */
function refuseTransferEncoding(value: string | undefined): void {
  if (value === undefined || /^(7bit|8bit|binary)$/i.test(value)) return;
  throw malformed('has a Content-Transfer-Encoding, which forms do not have');
}

function malformed(what: string): GatewayError {
  return new GatewayError('validation_failed', `A part of the form ${what}.`);
}
