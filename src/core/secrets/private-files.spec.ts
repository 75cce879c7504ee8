import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFile, DataDirectoryError, replaceFile } from './private-files';

const FULL = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });

describe('a private file', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = fs.mkdtempSync(join(tmpdir(), 'private-files-'));
  });

  afterEach(() => {
    jest.restoreAllMocks();
    fs.rmSync(dataDir, { recursive: true });
  });

  it.each([createFile, replaceFile])('on a full disk leaves nothing behind, whatever writes it: %p', (write) => {
    const path = join(dataDir, 'secrets.json');
    jest.spyOn(fs, 'writeFileSync').mockImplementationOnce((draft) => {
      fs.closeSync(fs.openSync(String(draft), 'wx'));
      throw FULL;
    });
    expect(() => write(path, '{}')).toThrow(
      `${path} cannot be written: ENOSPC: no space left on device, write. Check the directory that DATA_DIR names.`,
    );
    expect(fs.readdirSync(dataDir)).toEqual([]);
  });

  it('that cannot be replaced leaves no draft behind', () => {
    const path = join(dataDir, 'services.json');
    fs.mkdirSync(path);
    expect(() => replaceFile(path, '{}')).toThrow(DataDirectoryError);
    expect(fs.readdirSync(dataDir)).toEqual(['services.json']);
  });

  it('that exists is not written, so that a full or read-only disk does not matter', () => {
    const path = join(dataDir, 'secrets.json');
    expect(createFile(path, 'first')).toBe(true);
    jest.spyOn(fs, 'writeFileSync').mockImplementation(() => {
      throw FULL;
    });
    expect(createFile(path, 'second')).toBe(false);
  });

  it('names the file and the setting where a file has the place of the directory', () => {
    const occupied = join(dataDir, 'occupied');
    fs.writeFileSync(occupied, '');
    expect(() => createFile(join(occupied, 'secrets-key'), '')).toThrow(
      /occupied\/secrets-key cannot be written: EEXIST.*DATA_DIR/,
    );
  });
});
