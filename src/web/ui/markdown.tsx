import { lexer, type Token, type Tokens } from 'marked';
import { memo, type ReactNode } from 'react';
import { CodeBlock } from './code-block';

/** Longer text is shown as it is: its structure would take too long to find again and again while it grows. */
const MAX_PARSED_CHARACTERS = 100_000;
/** The time that emphasis takes grows with the square of its marks in a paragraph: 2,000 take about 5 ms. */
const MAX_MARKS = 2000;
/** Quotes and lists in each other; the lexer is recursive. */
const DEEP_NESTING = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*){20}/m;
const REFERENCE = /^ {0,3}\[[^\]]+\]:/m;

/**
 * Text of a model. Its Markdown becomes React elements and nothing else: HTML stays text, only `https:` and `mailto:`
 * links can be followed, and pictures are links.
 */
export function Markdown({ text }: { readonly text: string }) {
  const tokens = parse(text);
  if (tokens === null) return <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>;
  // A reference at the end can change any block before it.
  const references = REFERENCE.test(text) ? text : '';
  return (
    <div className="space-y-3 wrap-anywhere" dir="auto">
      {tokens.map((token, index) => (
        <Block key={index} token={token} references={references} />
      ))}
    </div>
  );
}

/** Null for text that would take too long or nests too deep. */
function parse(text: string): readonly Token[] | null {
  if (text.length > MAX_PARSED_CHARACTERS || DEEP_NESTING.test(text)) return null;
  const hasTooManyMarks = text
    .split(/\n[ \t]*\n/)
    .some((part) => (part.match(/[*_~`[\]<&]/g)?.length ?? 0) > MAX_MARKS);
  if (hasTooManyMarks) return null;
  try {
    return lexer(text);
  } catch {
    return null;
  }
}

interface BlockProps {
  readonly token: Token;
  readonly references?: string;
}

/** Finished blocks of a growing text stay as they are. */
const Block = memo(
  ({ token }: BlockProps) => block(token),
  (before, after) =>
    before.token.raw === after.token.raw &&
    before.token.type === after.token.type &&
    before.references === after.references,
);

function block(token: Token): ReactNode {
  switch (token.type) {
    case 'heading':
      // Headings of a model are no headings of the page.
      return <p className="text-base font-semibold">{inline(token.tokens)}</p>;
    case 'code':
      return <CodeBlock code={(token as Tokens.Code).text} label={`Code${codeLanguage(token as Tokens.Code)}`} />;
    case 'blockquote':
      return <blockquote className="space-y-2 border-s-2 ps-3 text-muted">{blocks(token.tokens)}</blockquote>;
    case 'list':
      return list(token as Tokens.List);
    case 'table':
      return table(token as Tokens.Table);
    case 'hr':
      return <hr />;
    case 'space':
    case 'def':
      return null;
    case 'paragraph':
    case 'text':
      return <p className="whitespace-pre-wrap">{'tokens' in token ? inline(token.tokens) : token.raw}</p>;
    default:
      return <p className="whitespace-pre-wrap">{token.raw}</p>;
  }
}

function blocks(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Block key={index} token={token} />);
}

function codeLanguage({ lang }: Tokens.Code): string {
  return lang === undefined || lang === '' ? '' : `, ${lang}`;
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const entries = items.map((item, index) => (
    <li key={index} className="space-y-1">
      {item.task === true && <span>{item.checked === true ? '☑ ' : '☐ '}</span>}
      {blocks(item.tokens)}
    </li>
  ));
  return ordered ? (
    <ol start={start === '' ? undefined : start} className="list-decimal space-y-1 ps-6">
      {entries}
    </ol>
  ) : (
    <ul className="list-disc space-y-1 ps-6">{entries}</ul>
  );
}

function table({ header, rows }: Tokens.Table): ReactNode {
  const cell = 'border px-2 py-1 text-start';
  return (
    <div role="region" aria-label="Table of the answer" tabIndex={0} className="overflow-x-auto">
      <table className="border-collapse">
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index} scope="col" className={cell}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowIndex) => (
            <tr key={rowIndex}>
              {row.map(({ tokens }, index) => (
                <td key={index} className={cell}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { readonly token: Token }): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return (
        <code className="rounded bg-sunken px-1 font-mono text-[0.8125rem]">{(token as Tokens.Codespan).text}</code>
      );
    case 'br':
      return <br />;
    case 'link':
      return <ModelLink href={(token as Tokens.Link).href}>{inline(token.tokens)}</ModelLink>;
    case 'image':
      return <ModelLink href={(token as Tokens.Image).href}>{`Picture: ${(token as Tokens.Image).text}`}</ModelLink>;
    case 'escape':
      return (token as Tokens.Escape).text;
    case 'text':
      return 'tokens' in token && token.tokens !== undefined ? inline(token.tokens) : (token as Tokens.Text).text;
    default:
      return token.raw;
  }
}

/** A link that a model wrote, with its host in sight; other schemes stay text. */
function ModelLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const target = followable(href);
  if (target === null) return <>{children}</>;
  return (
    <>
      <a href={target.href} target="_blank" rel="noopener noreferrer" className="link">
        {children}
      </a>
      {target.host !== '' && <span className="text-muted"> ({target.host})</span>}
    </>
  );
}

function followable(href: string): URL | null {
  try {
    const url = new URL(href);
    return url.protocol === 'https:' || url.protocol === 'mailto:' ? url : null;
  } catch {
    return null;
  }
}
