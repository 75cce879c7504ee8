import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** One row of `files.json`: how the gateway serves a file of the pages. */
interface PageFile {
  readonly name: string;
  readonly type: string;
  /** Base64url, of the plain file. */
  readonly sha256: string;
  readonly bytes: { readonly plain: number; readonly gzip: number; readonly br: number };
}

/** Compresses every file of the build and lists them in `files.json`. */
export function pageFiles(): Plugin {
  return {
    name: 'page-files',
    apply: 'build',
    enforce: 'post',
    writeBundle({ dir }, bundle) {
      if (dir === undefined) throw new Error('The pages need an output folder.');
      const served = Object.keys(bundle).filter((name) => !name.endsWith('.map'));
      const files = served.toSorted().map((name) => compress(dir, name));
      writeFileSync(join(dir, 'files.json'), `${JSON.stringify(files, null, 2)}\n`);
    },
  };
}

function compress(folder: string, name: string): PageFile {
  const path = join(folder, name);
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) throw new Error(`No media type is known for ${name}.`);
  const plain = readFileSync(path);
  const gzip = gzipSync(plain, { level: 9 });
  const br = brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
  writeFileSync(`${path}.gz`, gzip);
  writeFileSync(`${path}.br`, br);
  const sha256 = createHash('sha256').update(plain).digest('base64url');
  return { name, type, sha256, bytes: { plain: plain.length, gzip: gzip.length, br: br.length } };
}
