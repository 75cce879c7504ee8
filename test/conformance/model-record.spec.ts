/** What the catalogue says of models, against the model record of the document. */
import { loadCatalog } from '../../src/models/load-catalog';
import { nodeAt, openapiDocument } from '../harness/openapi-document';
import { schemaValidator } from '../harness/openapi-validator';

describe.each([
  ['features', 'ModelFeatures'],
  ['media', 'ModelMedia'],
] as const)('the %s of the built-in models', (part, schema) => {
  it('are documented, each by its name', async () => {
    const documented = Object.keys(nodeAt(openapiDocument(), `/components/schemas/${schema}/properties`)?.value ?? {});
    const used = (await loadCatalog(null)).flatMap(({ entry }) => Object.keys(entry[part] ?? {}));
    expect(used).not.toEqual([]);
    expect([...new Set(used)].filter((name) => !documented.includes(name))).toEqual([]);
  });

  it('have the documented values', async () => {
    const validate = schemaValidator(schema);
    const models = (await loadCatalog(null)).map(({ entry }) => entry);
    expect(models.filter((model) => validate(model[part] ?? {}) !== true).map(({ id }) => id)).toEqual([]);
  });
});
