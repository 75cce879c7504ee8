/**
 * Reads an operator's base URL.
 * @throws Error that names the variable, which stops the start
 */
export function parseBaseUrl(value: string, variable: string): URL {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Error(`${variable} must be an absolute http or https URL, for example https://api.example.com/v1`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error(`${variable} must not contain a user name or password`);
  }
  return url;
}
