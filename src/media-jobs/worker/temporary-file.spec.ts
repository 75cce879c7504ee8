import { fstatSync } from 'node:fs';
import { TemporaryFile } from './temporary-file';

describe('TemporaryFile', () => {
  it('has no name once it is open, and no other user could have read it', async () => {
    const file = await TemporaryFile.create();
    const { nlink, mode } = fstatSync(file.descriptor);
    await file.close();
    expect([nlink, mode & 0o777]).toEqual([0, 0o600]);
  });
});
