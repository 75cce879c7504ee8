/**
 * Keeps credentials out of the log. Pino's `redact` walks and copies every object, at ten times the cost of the line;
 * serializers cost nothing for absent names.
 */
const REMOVED = '[removed]';

const SECRET_NAME =
  /authorization|cookie|api[-_]?key|pepper|password|secret|^(?:access|refresh|bearer)?[-_]?token$|(?:database|redis|smtp)url/i;

/** Top-level names of log lines that may hold secrets. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'apiKey',
  'apiKeyPepper',
  'password',
  'secret',
  'token',
  'databaseUrl',
  'databaseDirectUrl',
  'databaseReadUrl',
  'redisUrl',
  'redisSentinels',
  'redisCluster',
];

/** Fields with foreign objects, which are searched for secrets. */
const SEARCHED_FIELDS = ['headers', 'request', 'response', 'config', 'options'];

/**
 * What looks like a credential, wherever it stands: our keys, bearer tokens, passwords in URLs, and the parameters that
 * grant access to a signed URL.
 */
const SECRET_VALUE =
  /(\bsk-llm-)[\w-]{6,}|(\bBearer\s+)[^\s"\\,]+|(:\/\/[^\s"/:@]*:)[^\s"/]+(?=@)|([?&](?:X-Amz-(?:Signature|Credential|Security-Token)|signature|sig|token|key|api_?key|access_token)=)[^\s"&\\]+/gi;

const DEEPEST_LEVEL = 4;
const LONGEST_CAUSE_CHAIN = 5;

export const serializers: Readonly<Record<string, (value: unknown) => unknown>> = {
  ...Object.fromEntries(SECRET_FIELDS.map((name) => [name, () => REMOVED])),
  ...Object.fromEntries(SEARCHED_FIELDS.map((name) => [name, (value: unknown) => withoutSecrets(value)])),
  err: (value) => describeError(value),
};

/** Replaces what looks like a credential in a text, such as a whole line of the log. */
export function maskSecrets(text: string): string {
  return text.replace(
    SECRET_VALUE,
    (_secret, key?: string, bearer?: string, url?: string, parameter?: string) =>
      (key ?? bearer ?? url ?? parameter ?? '') + REMOVED,
  );
}

/** A copy whose secrets, found by name, are replaced. */
function withoutSecrets(value: unknown, level = 1): unknown {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (level > DEEPEST_LEVEL) {
    return '[deeper]';
  }
  if (Array.isArray(value)) {
    return value.map((item) => withoutSecrets(item, level + 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      SECRET_NAME.test(name) ? REMOVED : withoutSecrets(part, level + 1),
    ]),
  );
}

/**
 * An error as type, message, code, stack and causes. Other properties are dropped: database errors contain statement
 * parameters, HTTP errors contain requests.
 */
function describeError(error: unknown, level = 1): unknown {
  if (typeof error !== 'object' || error === null || !('message' in error)) {
    return { message: String(error) };
  }
  const { name, message, code, stack, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause === undefined || level === LONGEST_CAUSE_CHAIN ? {} : { cause: describeError(cause, level + 1) }),
  };
}
