/*
 * The samples of an MP4 or QuickTime file with one table for all of them, in one pass: the library sums the sizes
 * within a chunk for each sample, and recorders may put hours into one chunk.
 */

interface Range {
  readonly from: number;
  readonly to: number;
}

const TRACK_TABLES = ['mdia', 'minf', 'stbl'];

/** The samples of the first audio track; none when there is no such table, or it has one size for all samples. */
export function* mp4Samples(file: Buffer): Generator<Buffer> {
  const tables = soundTables(file);
  const sizes = tables && content(file, tables, 'stsz');
  const chunks = tables && content(file, tables, 'stsc');
  if (!tables || !sizes || !chunks || sizes.length < 12 || sizes.readUInt32BE(4) !== 0) return;
  const count = Math.min(sizes.readUInt32BE(8), Math.floor((sizes.length - 12) / 4));
  let sample = 0;
  let run = 0;
  let chunk = 0;
  const runs = Math.min(chunks.readUInt32BE(4), Math.floor((chunks.length - 8) / 12));
  for (const offset of chunkOffsets(file, tables)) {
    chunk++;
    while (run + 1 < runs && chunks.readUInt32BE(8 + 12 * (run + 1)) <= chunk) run++;
    const end = Math.min(count, sample + (runs === 0 ? 0 : chunks.readUInt32BE(12 + 12 * run)));
    for (let at = offset; sample < end; sample++) {
      const size = sizes.readUInt32BE(12 + 4 * sample);
      if (at + size > file.length) return;
      yield file.subarray(at, at + size);
      at += size;
    }
  }
}

function soundTables(file: Buffer): Range | null {
  for (const movie of boxes(file, { from: 0, to: file.length }, 'moov')) {
    for (const track of boxes(file, movie, 'trak')) {
      const [media] = boxes(file, track, 'mdia');
      const handler = media && content(file, media, 'hdlr');
      if (handler && handler.toString('latin1', 8, 12) === 'soun') return within(file, track, TRACK_TABLES);
    }
  }
  return null;
}

function within(file: Buffer, parent: Range, path: readonly string[]): Range | null {
  let range: Range | undefined = parent;
  for (const type of path) {
    if (range === undefined) return null;
    [range] = boxes(file, range, type);
  }
  return range ?? null;
}

function* chunkOffsets(file: Buffer, tables: Range): Generator<number> {
  const [short, long] = [content(file, tables, 'stco'), content(file, tables, 'co64')];
  const [table, entryBytes] = short ? [short, 4] : [long, 8];
  if (!table || table.length < 8) return;
  const count = Math.min(table.readUInt32BE(4), Math.floor((table.length - 8) / entryBytes));
  for (let index = 0; index < count; index++) {
    const at = 8 + index * entryBytes;
    yield short ? table.readUInt32BE(at) : Number(table.readBigUInt64BE(at));
  }
}

function content(file: Buffer, parent: Range, type: string): Buffer | null {
  const [range] = boxes(file, parent, type);
  return range === undefined ? null : file.subarray(range.from, range.to);
}

/** The contents of child boxes of a type. */
function* boxes(file: Buffer, { from, to }: Range, type: string): Generator<Range> {
  for (let at = from; at + 8 <= to;) {
    const size = file.readUInt32BE(at);
    const isLong = size === 1 && at + 16 <= to;
    const bytes = isLong ? Number(file.readBigUInt64BE(at + 8)) : size === 0 ? to - at : size;
    if (bytes < (isLong ? 16 : 8)) return;
    const end = Math.min(at + bytes, to);
    if (file.toString('latin1', at + 4, at + 8) === type) yield { from: at + (isLong ? 16 : 8), to: end };
    at += bytes;
  }
}
