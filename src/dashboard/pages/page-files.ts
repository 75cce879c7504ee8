import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Encoding } from '../../core/http/content-encoding';

/** One file of the pages, in memory with all its encodings. */
export interface PageFile {
  readonly name: string;
  readonly contentType: string;
  /** Digest of the unencoded file, base64url. */
  readonly sha256: string;
  readonly content: Readonly<Record<Encoding, Buffer>>;
}

/** A row of `files.json`, written by `src/web/build/page-files.mts`. */
interface ListedFile {
  readonly name: string;
  readonly type: string;
  readonly sha256: string;
}

const FOLDER = 'dist/pages';
const LIST = 'files.json';
const SUFFIXES: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz', plain: '' };

/** The files of the built pages by name; empty without a build. */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  const folder = findFolder(__dirname);
  if (folder === null) return new Map();
  const listed = JSON.parse(readFileSync(join(folder, LIST), 'utf8')) as readonly ListedFile[];
  return new Map(listed.map((file) => [file.name, readPageFile(folder, file)]));
}

/** The build is beside `src` when tests run, and above `dist/src` otherwise. */
function findFolder(from: string): string | null {
  const folder = join(from, FOLDER);
  if (existsSync(join(folder, LIST))) return folder;
  const parent = dirname(from);
  return parent === from ? null : findFolder(parent);
}

function readPageFile(folder: string, { name, type, sha256 }: ListedFile): PageFile {
  const read = (encoding: Encoding): Buffer => readFileSync(join(folder, `${name}${SUFFIXES[encoding]}`));
  return { name, contentType: type, sha256, content: { br: read('br'), gzip: read('gzip'), plain: read('plain') } };
}
