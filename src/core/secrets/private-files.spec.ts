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

  it.each([createFile, replaceFile])('leaves no draft behind on a full disk: %p', (write) => {
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

  it('leaves no draft behind when it cannot be replaced', () => {
    const path = join(dataDir, 'services.json');
    fs.mkdirSync(path);
    expect(() => replaceFile(path, '{}')).toThrow(DataDirectoryError);
    expect(fs.readdirSync(dataDir)).toEqual(['services.json']);
  });

  it('is not written when it exists, so that a full or read-only disk does not matter', () => {
    const path = join(dataDir, 'secrets.json');
    expect(createFile(path, 'first')).toBe(true);
    jest.spyOn(fs, 'writeFileSync').mockImplementation(() => {
      throw FULL;
    });
    expect(createFile(path, 'second')).toBe(false);
  });

  it('names the path and the setting in the error when the directory is a file', () => {
    const occupied = join(dataDir, 'occupied');
    fs.writeFileSync(occupied, '');
    expect(() => createFile(join(occupied, 'secrets-key'), '')).toThrow(
      /occupied\/secrets-key cannot be written: EEXIST.*DATA_DIR/,
    );
  });
});
