import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Every line of the log has one schema: names in snake_case, and a stable `event` from `warn` on (core/observability).
 */
const ROOT = join(__dirname, '../..');
const FILES = globSync('src/**/*.ts', { cwd: ROOT }).filter(
  (file) => !/\.spec\.ts$|^src\/(web|cli|contract)\//.test(file),
);
const LEVELS = ['fatal', 'error', 'warn', 'info', 'log', 'debug'];
const NEEDS_EVENT = ['fatal', 'error', 'warn'];

interface LogCall {
  readonly place: string;
  readonly level: string;
  /** The names of its fields; `null` when it is no object. */
  readonly fields: readonly string[] | null;
  /** The alternatives of its text, from the beginning to the first inserted value and from the last one to the end. */
  readonly texts: readonly Text[];
}

interface Text {
  readonly start: string;
  readonly end: string;
}

function logCallsOf(file: string): LogCall[] {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const calls: LogCall[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const level = node.expression.name.text;
      const receiver = node.expression.expression.getText();
      if (LEVELS.includes(level) && /(^|\.)logger$/i.test(receiver)) {
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        const [argument] = node.arguments;
        const fields = fieldsOf(argument, source);
        calls.push({
          place: `${file}:${line + 1}`,
          level,
          fields,
          texts: textsOf(messageOf(argument, source), source),
        });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return calls;
}

/** The fields of an object, with those of the constants and functions of the file that it spreads. */
function fieldsOf(node: ts.Node | undefined, source: ts.SourceFile): string[] | null {
  if (node === undefined || ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) return null;
  if (ts.isObjectLiteralExpression(node)) {
    return node.properties.flatMap((property) => {
      if (ts.isSpreadAssignment(property)) return fieldsOf(property.expression, source) ?? [];
      return [property.name?.getText() ?? ''];
    });
  }
  if (ts.isParenthesizedExpression(node)) return fieldsOf(node.expression, source);
  if (ts.isBinaryExpression(node)) return fieldsOf(node.right, source);
  if (ts.isConditionalExpression(node)) {
    return [...(fieldsOf(node.whenTrue, source) ?? []), ...(fieldsOf(node.whenFalse, source) ?? [])];
  }
  if (ts.isIdentifier(node)) return fieldsOf(initializerOf(node, source), source);
  if (ts.isCallExpression(node)) return fieldsOf(resultOf(node.expression.getText(), source), source);
  return [];
}

/** The `message` of an object, or the argument itself. */
function messageOf(node: ts.Node | undefined, source: ts.SourceFile): ts.Node | undefined {
  if (node === undefined || !ts.isObjectLiteralExpression(node)) return node;
  for (const property of node.properties) {
    if (ts.isShorthandPropertyAssignment(property) && property.name.text === 'message') return property.name;
    if (ts.isPropertyAssignment(property) && property.name.getText() === 'message') return property.initializer;
    if (ts.isSpreadAssignment(property) && ts.isIdentifier(property.expression)) {
      const found = messageOf(initializerOf(property.expression, source), source);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function textsOf(node: ts.Node | undefined, source: ts.SourceFile): Text[] {
  if (node === undefined) return [];
  if (ts.isStringLiteralLike(node)) return [{ start: node.text, end: node.text }];
  if (ts.isTemplateExpression(node)) {
    return [{ start: node.head.text, end: node.templateSpans.at(-1)?.literal.text ?? '' }];
  }
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue, source), ...textsOf(node.whenFalse, source)];
  if (ts.isIdentifier(node)) return textsOf(initializerOf(node, source), source);
  return [];
}

/** The value of the constant of this name that is declared last before its use. */
function initializerOf(name: ts.Identifier, source: ts.SourceFile): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  const visit = (node: ts.Node): void => {
    if (node.getStart() > name.getStart()) return;
    if (ts.isVariableDeclaration(node) && node.name.getText() === name.text) found = node.initializer ?? found;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function resultOf(name: string, source: ts.SourceFile): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionDeclaration(node) && node.name?.text === name) {
      node.body?.statements.forEach((statement) => {
        if (ts.isReturnStatement(statement)) found = statement.expression;
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const calls = FILES.flatMap(logCallsOf);
const PROPER_NAMES = /^(?:Node|Redis|PostgreSQL|Stripe|[A-Z][A-Z0-9_]+)\b/;

describe('every line that the code logs', () => {
  it('is found by this test', () => {
    expect(calls.length).toBeGreaterThan(80);
  });

  it('has an event from warn on', () => {
    const without = calls.filter(({ level, fields }) => NEEDS_EVENT.includes(level) && !fields?.includes('event'));
    expect(without.map(({ place }) => place)).toEqual([]);
  });

  it('has an error as err, or its text as failure', () => {
    const otherNames = /^(?:cause|error|exception)$/;
    const wrong = calls.flatMap(({ place, fields }) =>
      (fields ?? []).filter((field) => otherNames.test(field)).map((field) => `${place} ${field}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has fields in snake_case', () => {
    const wrong = calls.flatMap(({ place, fields }) =>
      (fields ?? []).filter((field) => !/^[a-z][a-z0-9_]*$/.test(field)).map((field) => `${place} ${field}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has a text without a capital at its beginning and a period at its end', () => {
    const texts = calls.flatMap(({ place, texts: alternatives }) => alternatives.map((text) => ({ place, ...text })));
    expect(texts.length).toBeGreaterThan(80);
    const wrong = texts.filter(
      ({ start, end }) => (/^[A-Z]/.test(start) && !PROPER_NAMES.test(start)) || /(?<!\.)\.$/.test(end),
    );
    expect(wrong.map(({ place, start }) => `${place} ${start}`)).toEqual([]);
  });
});
