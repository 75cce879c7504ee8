/** Longer strings are written in chunks, to avoid a copy of an embedded image. */
const PIECE_LENGTH = 16_384;

/**
 * Writes a parsed JSON value in canonical form: names sorted by code unit, no spaces, the shortest form of each number.
 * Two texts have the same form exactly when their values are equal. The value is as deep as the strict parser allows.
 */
export function writeCanonicalJson(value: unknown, write: (text: string) => void): void {
  if (typeof value === 'string') {
    writeString(value, write);
  } else if (Array.isArray(value)) {
    writeList('[', value, ']', write, (item) => writeCanonicalJson(item, write));
  } else if (typeof value === 'object' && value !== null) {
    const members = value as Readonly<Record<string, unknown>>;
    writeList('{', Object.keys(members).toSorted(byCodeUnit), '}', write, (name) => {
      writeString(name, write);
      write(':');
      writeCanonicalJson(members[name], write);
    });
  } else {
    write(JSON.stringify(value));
  }
}

function writeList<Item>(
  open: string,
  items: readonly Item[],
  close: string,
  write: (text: string) => void,
  writeItem: (item: Item) => void,
): void {
  let separator = open;
  for (const item of items) {
    write(separator);
    writeItem(item);
    separator = ',';
  }
  write(separator === open ? open + close : close);
}

function writeString(text: string, write: (text: string) => void): void {
  if (text.length <= PIECE_LENGTH) {
    write(JSON.stringify(text));
    return;
  }
  write('"');
  for (let at = 0; at < text.length;) {
    const end = endOfPiece(text, at + PIECE_LENGTH);
    write(JSON.stringify(text.slice(at, end)).slice(1, -1));
    at = end;
  }
  write('"');
}

/** Never splits a surrogate pair: its halves serialize differently on their own. */
function endOfPiece(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
