import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors/gateway-error';

/**
 * One parameter of a header value: `; name=token` or `; name="quoted"`. Sticky: the parameters must cover every
 * character.
 */
const PARAMETER = /\s*;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))\s*/y;
/** RFC 2046: the characters of a boundary. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/**
 * The parameters of a header value after its first word, names in lower case; `null` when it is malformed or repeats a
 * name, which other parsers may read differently. Only `\"` and `\\` are escapes: clients do not escape backslashes in
 * file names.
 */
function readParameters(value: string, from: number): ReadonlyMap<string, string> | null {
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = from;
  for (let at = from; at < value.length; at = PARAMETER.lastIndex) {
    const match = PARAMETER.exec(value);
    // Some clients end the list with a semicolon: `form-data; name="a";`.
    if (match === null) return ['', ';'].includes(value.slice(at).trim()) ? parameters : null;
    const [, name = '', quoted, token = ''] = match;
    if (parameters.has(name.toLowerCase())) return null;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, '$1') ?? token);
  }
  return parameters;
}

/** The boundary in the `Content-Type` of a form. @throws GatewayError `validation_failed`. */
export function boundaryOf(contentType: string): string {
  const end = contentType.indexOf(';');
  const boundary = end === -1 ? undefined : readParameters(contentType, end)?.get('boundary');
  if (boundary !== undefined && BOUNDARY.test(boundary)) return boundary;
  throw new GatewayError(
    'validation_failed',
    'The Content-Type of the form must have exactly one valid boundary (RFC 2046).',
    {
      param: 'Content-Type',
    },
  );
}

const MAX_LINES = 16;
const MAX_NAME_BYTES = 100;

/** The header of one part of a form. */
export interface PartHeader {
  /** Field name without a trailing `[]`. */
  readonly name: string;
  /** Whether the part was sent with a file name; the name itself is dropped. */
  readonly named: boolean;
  /** Lower case, without parameters; `null` when missing. */
  readonly contentType: string | null;
  /** Charset of the text; `null` when missing. */
  readonly charset: string | null;
}

/**
 * Parses the header section of a part, without the empty line at its end. Strict: ambiguous headers are refused, not
 * skipped.
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
  if (!name) throw malformed('has no Content-Disposition with a field name');
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

/** Encoded files are not decoded (RFC 7578 deprecates it); without decoding their content would be wrong. */
function refuseTransferEncoding(value: string | undefined): void {
  if (value === undefined || /^(7bit|8bit|binary)$/i.test(value)) return;
  throw malformed('has a Content-Transfer-Encoding, which forms do not have');
}

function malformed(what: string): GatewayError {
  return new GatewayError('validation_failed', `A part of the form ${what}.`);
}
