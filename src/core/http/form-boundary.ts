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
export function readParameters(value: string, from: number): ReadonlyMap<string, string> | null {
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
