import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, loadConfig } from './load-config';

describe('PROVIDERS_FILE', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-providers-'));
  const file = join(directory, 'providers.yaml');
  afterAll(() => rmSync(directory, { recursive: true }));

  const load = (text: string, environment: Record<string, string> = {}) => {
    writeFileSync(file, text);
    return loadConfig({ PROVIDERS_FILE: file, ...environment }).providerInstances;
  };
  const problemsOf = (text: string, environment?: Record<string, string>): readonly string[] => {
    try {
      load(text, environment);
    } catch (error) {
      if (error instanceof ConfigurationError) return error.problems;
      throw error;
    }
    return [];
  };

  it('defines instances with one key, weighted keys or none, and values from the environment', () => {
    const text = `
- { id: vllm-eu, module: vllm, base_url: 'http://\${HOST_EU}:8000/v1/' }
- { id: one, module: openai, api_key: '\${KEY_A}' }
- id: several
  module: openai
  api_keys: [{ key: '\${KEY_A}', weight: 3 }, { key: sk-b }]
`;
    expect(load(text, { HOST_EU: 'eu.example', KEY_A: 'sk-a' })).toEqual([
      { id: 'vllm-eu', module: 'vllm', baseUrl: 'http://eu.example:8000/v1', apiKeys: [] },
      { id: 'one', module: 'openai', baseUrl: null, apiKeys: [{ key: 'sk-a', weight: 1 }] },
      {
        id: 'several',
        module: 'openai',
        baseUrl: null,
        apiKeys: [
          { key: 'sk-a', weight: 3 },
          { key: 'sk-b', weight: 1 },
        ],
      },
    ]);
  });

  it('names every fault of the file at once, and shows no value', () => {
    const text = `
- { id: Bad Id, module: openai, api_key: '\${MISSING_ONE}' }
- { id: good, module: openai, base_url: 'ftp://secret-host', api_keys: [{ key: 'secret key', weight: 0 }] }
- { id: both, module: openai, api_key: a, api_keys: [{ key: b }], other: 1 }
`;
    const problems = problemsOf(text, { PORT: 'many' });
    for (const part of [
      'MISSING_ONE',
      '0.id',
      '1.base_url',
      '1.api_keys.0.key',
      '1.api_keys.0.weight',
      'entry 2',
      'PORT',
    ]) {
      expect(problems.join('\n')).toContain(part);
    }
    expect(problems.join('\n')).not.toContain('secret');
  });

  it.each([
    ['two entries with one id', '[{ id: a, module: openai }, { id: a, module: openai }]', /two entries with the id a/],
    ['a file that is not YAML', 'a: [secret', /cannot be read: it is not YAML/],
    ['a file that is not a list', 'secret: 1', /PROVIDERS_FILE/],
  ])('refuses %s', (_what, text, problem) => {
    const problems = problemsOf(text);
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(problems.join('\n')).not.toContain('secret');
  });
});
