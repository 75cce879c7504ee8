/**
 * Reads the catalogue: the built-in files in this folder, and the operator's in CATALOG_DIR, which take precedence by
 * model id. Independent of the database. All faults are reported at once, each with its location.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import type { z } from 'zod';
import { catalogEntrySchema, type CatalogEntry } from './catalog.schema';

/** Where a model comes from: shipped with the gateway, or a file of the operator. */
export type CatalogFileSource = 'builtin' | 'file';

export interface LoadedModel {
  readonly entry: CatalogEntry;
  readonly source: CatalogFileSource;
  readonly file: string;
}

/** A fault or a warning and its location; `model` and `path` are empty if it concerns the whole file. */
export interface CatalogProblem {
  readonly file: string;
  readonly model: string;
  /** JSON path inside the model, for example `prices[0].tokens.per_1m_micro.input`. */
  readonly path: string;
  readonly message: string;
}

/** The files are invalid. Nothing is imported, not even valid models. */
export class CatalogError extends Error {
  readonly problems: readonly CatalogProblem[];

  constructor(problems: readonly CatalogProblem[]) {
    super(`The model catalogue has ${problems.length} error(s):\n${problems.map(formatProblem).join('\n')}`);
    this.name = 'CatalogError';
    this.problems = problems;
  }
}

/** One line: `file: model: path: message`. */
export function formatProblem(problem: CatalogProblem): string {
  return [problem.file, problem.model, problem.path, problem.message].filter((part) => part !== '').join(': ');
}

/** The build copies it beside the compiled code. */
const BUILTIN_DIR = join(__dirname, 'catalog');
const FILE_NAME = /\.(ya?ml|json)$/;

/**
 * All models, sorted by id.
 * @param catalogDir the operator's folder, or `null` for the built-in models alone.
 * @throws CatalogError naming file, model and path of everything that is wrong.
 */
export async function loadCatalog(catalogDir: string | null, builtinDir = BUILTIN_DIR): Promise<LoadedModel[]> {
  const problems: CatalogProblem[] = [];
  const builtin = await loadDirectory(builtinDir, 'builtin', problems);
  const own = catalogDir === null ? new Map<string, LoadedModel>() : await loadDirectory(catalogDir, 'file', problems);
  const models = [...new Map([...builtin, ...own]).values()].toSorted((a, b) => (a.entry.id < b.entry.id ? -1 : 1));
  checkAliases(models, problems);
  if (problems.length > 0) throw new CatalogError(problems);
  return models;
}

async function loadDirectory(
  directory: string,
  source: CatalogFileSource,
  problems: CatalogProblem[],
): Promise<Map<string, LoadedModel>> {
  const models = new Map<string, LoadedModel>();
  let names: string[];
  try {
    names = (await readdir(directory)).filter((name) => FILE_NAME.test(name)).toSorted();
  } catch (error) {
    problems.push({ file: directory, model: '', path: '', message: unreadable(source, error) });
    return models;
  }
  for (const name of names) {
    const file = join(directory, name);
    for (const entry of parseFile(file, await readFile(file, 'utf8'), problems)) {
      const earlier = models.get(entry.id);
      if (earlier) problems.push({ file, model: entry.id, path: 'id', message: `already defined in ${earlier.file}` });
      else models.set(entry.id, { entry, source, file });
    }
  }
  return models;
}

function unreadable(source: CatalogFileSource, error: unknown): string {
  const advice = source === 'file' ? '; CATALOG_DIR accepts a folder of catalogue files' : '';
  return `cannot be read (${describe(error)})${advice}`;
}

/** A file is a list of models, or `{ models: [...] }`. JSON is parsed as YAML, of which it is a subset. */
function parseFile(file: string, text: string, problems: CatalogProblem[]): CatalogEntry[] {
  let documents: unknown[];
  try {
    documents = loadAll(text);
  } catch (error) {
    // Further lines show the place.
    const [message = ''] = describe(error).split('\n');
    problems.push({ file, model: '', path: '', message });
    return [];
  }
  const list = documents.length > 1 ? null : listOf(documents[0]);
  if (list === null) {
    problems.push({
      file,
      model: '',
      path: '',
      message: 'expected a list of models, or an object whose only key is models',
    });
    return [];
  }
  return list.flatMap((value, at) => {
    const result = catalogEntrySchema.safeParse(value);
    if (result.success) return [result.data];
    const model = nameOf(value, at);
    problems.push(...result.error.issues.flatMap(describeIssues).map((issue) => ({ file, model, ...issue })));
    return [];
  });
}

function listOf(content: unknown): unknown[] | null {
  if (content === null || content === undefined) return [];
  if (Array.isArray(content)) return content;
  if (typeof content !== 'object') return null;
  const [first, ...others] = Object.entries(content);
  return first?.[0] === 'models' && Array.isArray(first[1]) && others.length === 0 ? first[1] : null;
}

function nameOf(value: unknown, at: number): string {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  return typeof id === 'string' ? id : `model ${at + 1}`;
}

/** Converts a schema issue to problems; an object may have several unknown keys. */
export function describeIssues(issue: z.core.$ZodIssue): Pick<CatalogProblem, 'path' | 'message'>[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: toJsonPath([...issue.path, key]), message: 'unknown key' }));
  }
  return [{ path: toJsonPath(issue.path), message: issue.message }];
}

function toJsonPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

/** Refuses an alias that is also a model id or an alias of another model, which would be ambiguous. */
function checkAliases(models: readonly LoadedModel[], problems: CatalogProblem[]): void {
  const taken = new Set(models.map(({ entry }) => entry.id));
  for (const { entry, file } of models) {
    entry.aliases.forEach((alias, at) => {
      if (taken.has(alias)) {
        problems.push({ file, model: entry.id, path: `aliases[${at}]`, message: `${alias} is already taken` });
      }
      taken.add(alias);
    });
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
