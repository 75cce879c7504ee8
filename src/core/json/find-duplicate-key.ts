const PUNCTUATION = new Set(['{', '}', '[', ']', ',', ':']);

interface Frame {
  readonly path: string;
  /** Names seen so far; `null` in an array. */
  readonly names: Set<string> | null;
  index: number;
  name: string;
}

/**
 * The JSON path of the first repeated name within an object. The text must be valid JSON and no deeper than the strict
 * parser allows. Slow: call it only when a duplicate is known to exist.
 */
export function findDuplicateKey(text: string): string | undefined {
  const stack: Frame[] = [];
  let expectsName = false;
  for (const token of tokensOf(text)) {
    const frame = stack.at(-1);
    if (token === '{' || token === '[') {
      const path = frame === undefined ? '' : memberPath(frame);
      stack.push({ path, names: token === '{' ? new Set() : null, index: 0, name: '' });
      expectsName = token === '{';
    } else if (token === '}' || token === ']') {
      stack.pop();
      expectsName = false;
    } else if (token === ',') {
      if (frame !== undefined) frame.index++;
      expectsName = frame?.names != null;
    } else if (token === ':') {
      expectsName = false;
    } else if (expectsName && frame?.names != null) {
      frame.name = JSON.parse(token) as string;
      if (frame.names.has(frame.name)) return memberPath(frame);
      frame.names.add(frame.name);
    }
  }
  return undefined;
}

/**
 * Strings and punctuation. Hand-written: a regular expression overflows its stack on strings with millions of escapes.
 */
function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') {
      const start = at;
      for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
      yield text.slice(start, at + 1);
    } else if (PUNCTUATION.has(character)) {
      yield character;
    }
  }
}

function memberPath(frame: Frame): string {
  if (frame.names === null) return `${frame.path}[${frame.index}]`;
  return frame.path === '' ? frame.name : `${frame.path}.${frame.name}`;
}
