/** In characters. */
const MAX_SAFE_TEXT_LENGTH = 300;

/** Patterns for the operator's data that an upstream's message may contain, each with its replacement. */
const REDACTIONS: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[link]'],
  [/\b(?:bearer|basic)\s+\S+/gi, '[redacted]'],
  [/\b[\w.+-]+@[\w-]+\.[\w.-]+/g, '[redacted]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[redacted]'],
  [/\b(?:sk|pk|rk|key|org|proj|user|acct|req|gsk|xai|fw|r8|hf)[-_][\w*.-]{4,}/gi, '[redacted]'],
  [/\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}/g, '[redacted]'],
];

/**
 * Makes an upstream's message safe for clients: one line of at most 300 characters, with keys, organizations, accounts
 * and addresses redacted.
 */
export function toSafeText(text: string): string {
  let safe = text.slice(0, 4 * MAX_SAFE_TEXT_LENGTH).replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ');
  for (const [pattern, replacement] of REDACTIONS) safe = safe.replace(pattern, replacement);
  safe = safe.trim();
  if (safe.length <= MAX_SAFE_TEXT_LENGTH) return safe;
  const cut = safe.slice(0, MAX_SAFE_TEXT_LENGTH - 1).replace(/[\uD800-\uDBFF]$/, '');
  return `${cut.trimEnd()}…`;
}
