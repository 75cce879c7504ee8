/** Where a text stops being JSON; null when it is JSON. Browsers name the place differently, or not at all. */
export function jsonErrorLine(text: string): number | null {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const mistake = new Scan(text).end();
    return text.slice(0, Math.min(mistake, text.trimEnd().length)).split('\n').length;
  }
}

const SCALAR =
  /"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y; // oxlint-disable-line no-control-regex
const NAME = /"(?:[^"\\\n]|\\.)*"/y;
const SPACE = /[ \t\n\r]*/y;

/** Reads a value up to its end, or to the first mistake. */
class Scan {
  private at = 0;

  constructor(private readonly text: string) {}

  end(): number {
    this.value();
    this.take(SPACE);
    return this.at;
  }

  private value(): boolean {
    this.take(SPACE);
    if (this.skip('[')) return this.list(']', () => this.value());
    if (this.skip('{')) {
      return this.list('}', () => this.take(NAME) && this.skip(':') && this.value());
    }
    return this.take(SCALAR);
  }

  private list(end: string, item: () => boolean): boolean {
    if (this.skip(end)) return true;
    do {
      this.take(SPACE);
      if (!item()) return false;
    } while (this.skip(','));
    return this.skip(end);
  }

  private skip(sign: string): boolean {
    this.take(SPACE);
    if (this.text[this.at] !== sign) return false;
    this.at++;
    return true;
  }

  private take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }
}
