/** What the catalogue says of models, against the model record of the document. */
import { loadCatalog } from '../../src/models/load-catalog';
import { nodeAt, openapiDocument } from '../harness/openapi-document';
import { schemaValidator } from '../harness/openapi-validator';
import { closeProviders, configureProvider } from './configured-provider';

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

describe('image models', () => {
  afterAll(closeProviders);

  it('list formats and backgrounds only where a deployment lets the client choose', async () => {
    const choosing = ({ provider, map }: { provider: string; map?: object }): readonly string[] => {
      if (map !== undefined) return 'format' in map ? ['formats'] : [];
      const { quirks } = configureProvider(provider, { origin: 'http://127.0.0.1:1' });
      return quirks.imageOutput === true ? ['formats', 'backgrounds'] : [];
    };
    const models = (await loadCatalog(null)).map(({ entry }) => entry).filter(({ modality }) => modality === 'image');
    const without = models.filter(({ media, deployments }) => {
      const choices = deployments.flatMap(choosing);
      const offersFormats = (media?.formats?.length ?? 0) > 1;
      const lacksFormats = offersFormats && !choices.includes('formats');
      return lacksFormats || (media?.backgrounds !== undefined && !choices.includes('backgrounds'));
    });
    expect(without.map(({ id }) => id)).toEqual([]);
  });
});
