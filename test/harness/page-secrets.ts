/** The secrets of a visit, and where pages may not have them. */
import type { Page, Request, Response } from 'playwright-core';

/** API keys, also while the page has them from a reply only, and webhook secrets. */
const SHAPES = /sk-llm-[0-9A-Za-z]{38}|whsec_[0-9A-Za-z+/=_-]{20,}/g;
/** Fields of requests to the dashboard that are secret. */
const SECRET_FIELDS = ['password', 'current_password', 'new_password', 'token', 'secret'];
/** Shorter ones are mistakes that a journey types, for example `wrong`, and words of the pages. */
const MIN_LENGTH = 12;
const REDACTED = '[secret]';

/**
 * What the page has: its document with the values of fields, storage, and the state of its history. The dialog that
 * shows a new secret once, and what is typed into password fields, are left out.
 */
const READ_PAGE = `(() => {
  const once = [...document.querySelectorAll('[data-secret]')].map((shown) => shown.closest('dialog') ?? shown);
  const hidden = [...once, ...document.querySelectorAll('input[type=password]')];
  const fields = [...document.querySelectorAll('input:not([type=password]), textarea')];
  const shown = fields.filter((field) => !once.some((dialog) => dialog.contains(field)));
  const html = hidden.reduce((text, { outerHTML }) => text.replaceAll(outerHTML, ''), document.documentElement.outerHTML);
  return {
    document: [html, ...shown.map(({ value }) => value)].join('\\n'),
    localStorage: JSON.stringify(Object.entries(localStorage)),
    sessionStorage: JSON.stringify(Object.entries(sessionStorage)),
    history: JSON.stringify(history.state) ?? '',
  };
})()`;

/** Takes secrets out of the document that is shown. React does not notice, so the visit must end after it. */
const HIDE = `((values, shapes) => {
  const redact = (text) =>
    values.reduce((rest, value) => rest.replaceAll(value, '${REDACTED}'), text.replaceAll(new RegExp(shapes, 'g'), '${REDACTED}'));
  const texts = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = redact(texts.currentNode.data);
  for (const field of document.querySelectorAll('input, textarea')) {
    field.value = field.type === 'password' ? '' : redact(field.value);
  }
  for (const field of document.querySelectorAll('input[type=password]')) field.removeAttribute('value');
})`;

/** Learns the secrets of a visit from its traffic, and finds them. */
export class PageSecrets {
  private readonly values = new Set<string>();
  private readonly reading: Promise<void>[] = [];

  /** Learns passwords and tokens from what the page sends. */
  learnFromRequest(request: Request): void {
    if (request.method() === 'GET' || !request.url().includes('/dashboard/api/')) return;
    const body = jsonOf(request.postData());
    for (const field of SECRET_FIELDS) if (typeof body?.[field] === 'string') this.learn(body[field]);
  }

  /** Learns session tokens, which scripts cannot read. */
  learnFromResponse(response: Response): void {
    if (response.request().method() === 'GET') return;
    const cookies = response.headerValues('set-cookie');
    this.reading.push(
      cookies.then(
        (lines) => lines.forEach((line) => this.learnCookie(line)),
        () => undefined,
      ),
    );
  }

  learn(value: string): void {
    if (value.length >= MIN_LENGTH) this.values.add(value);
  }

  redact(text: string): string {
    return this.spellings().reduce(
      (rest, value) => rest.replaceAll(value, REDACTED),
      text.replaceAll(SHAPES, REDACTED),
    );
  }

  /** Whether the text has a secret. */
  isIn(text: string): boolean {
    return this.redact(text) !== text;
  }

  /** The places of the page that have a secret, for example `localStorage`. */
  async placesIn(page: Page): Promise<readonly string[]> {
    await Promise.all(this.reading);
    const places = await page.evaluate<Readonly<Record<string, string>>>(READ_PAGE);
    return Object.keys(places).filter((name) => this.isIn(places[name] ?? ''));
  }

  async hideIn(page: Page): Promise<void> {
    await page.evaluate(`${HIDE}(${JSON.stringify(this.spellings())}, ${JSON.stringify(SHAPES.source)})`);
  }

  private learnCookie(line: string): void {
    const [, token] = /^sid=([^;]+)/.exec(line) ?? [];
    if (token !== undefined) this.learn(token);
  }

  /** As text, in a URL, in a form, in JSON and in HTML. */
  private spellings(): readonly string[] {
    return [...this.values].flatMap((value) => [
      value,
      encodeURIComponent(value),
      new URLSearchParams({ '': value }).toString().slice(1),
      JSON.stringify(value).slice(1, -1),
      value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    ]);
  }
}

function jsonOf(text: string | null): Readonly<Record<string, unknown>> | null {
  try {
    return text === null ? null : (JSON.parse(text) as Readonly<Record<string, unknown>> | null);
  } catch {
    return null;
  }
}
