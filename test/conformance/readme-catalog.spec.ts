/** The catalogue files in src/models/README.md, as an operator pastes them into CATALOG_DIR. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalog } from '../../src/models/load-catalog';

const README = readFileSync(join(__dirname, '../../src/models/README.md'), 'utf8');
const files = [...README.matchAll(/```yaml\n(- id: (\S+)[^]*?)```/g)].map(
  ([, text = '', id = '']) => [id, text] as const,
);

it('are three', () => expect(files).toHaveLength(3));

it.each(files)('%s is valid and has a price', async (id, text) => {
  const directory = mkdtempSync(join(tmpdir(), 'readme-catalog-'));
  try {
    writeFileSync(join(directory, 'models.yaml'), text);
    const model = (await loadCatalog(directory)).find(({ entry }) => entry.id === id);
    expect(model).toMatchObject({ source: 'file', entry: { prices: [expect.anything()] } });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
