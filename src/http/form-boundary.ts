import { GatewayError } from '../common/errors/gateway-error';

/** One parameter of a header value: `; name=token` or `; name="quoted"`. Sticky: every character has to belong to one. */
const PARAMETER = /\s*;\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))\s*/y;
/** RFC 2046: what a delimiter may be made of. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/**
 * The parameters of a header value behind its first word, names in small letters; `null` when it is not well-formed or
 * names one twice, which others could read in another way. Only `\"` and `\\` are escapes: clients send the backslashes
 * of file names as they are.
 */
export function readParameters(value: string, from: number): ReadonlyMap<string, string> | null {
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = from;
  for (let at = from; at < value.length; at = PARAMETER.lastIndex) {
    const match = PARAMETER.exec(value);
    // An empty value with nothing behind it is how some clients end a list: `form-data; name="a";`.
    if (match === null) return ['', ';'].includes(value.slice(at).trim()) ? parameters : null;
    const [, name = '', quoted, token = ''] = match;
    if (parameters.has(name.toLowerCase())) return null;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, '$1') ?? token);
  }
  return parameters;
}

/** The boundary that the `Content-Type` of a form names. @throws GatewayError `validation_failed`. */
export function boundaryOf(contentType: string): string {
  const end = contentType.indexOf(';');
  const boundary = end === -1 ? undefined : readParameters(contentType, end)?.get('boundary');
  if (boundary !== undefined && BOUNDARY.test(boundary)) return boundary;
  throw new GatewayError(
    'validation_failed',
    'The Content-Type of the form must name one boundary, as RFC 2046 says.',
    {
      param: 'Content-Type',
    },
  );
}
