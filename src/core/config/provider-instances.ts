import { readFileSync } from 'node:fs';
import { load, YAMLException } from 'js-yaml';
import { z } from 'zod';
import { baseUrl } from './setting-kinds';

/** A key of a provider's account and its share of the calls. */
export interface WeightedKey {
  readonly key: string;
  /** 1 to 1,000, relative to the other keys. */
  readonly weight: number;
}

/** A provider of a known module with its own address and keys, which deployments name as `provider`. */
export interface ProviderInstance {
  readonly id: string;
  /** Id of the provider module that supplies the wire format and quirks. */
  readonly module: string;
  /** `null`: the base URL of the module. */
  readonly baseUrl: string | null;
  /** Empty for servers that require none. */
  readonly apiKeys: readonly WeightedKey[];
}

export const INSTANCE_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const MAX_API_KEYS = 100;
export const MAX_WEIGHT = 1_000;
/** Characters that an HTTP header carries unchanged. */
export const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** `${NAME}`: the value of an environment variable. */
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

const apiKey = z.string().regex(VISIBLE_ASCII, 'must be visible ASCII characters without spaces');
const weightedKey = z.strictObject({ key: apiKey, weight: z.int().min(1).max(MAX_WEIGHT).default(1) });
const fileSchema = z.array(
  z
    .strictObject({
      id: z.string().regex(INSTANCE_ID, 'must be lower-case letters, digits and dashes'),
      module: z.string().min(1),
      base_url: baseUrl.optional(),
      api_key: apiKey.optional(),
      api_keys: z.array(weightedKey).min(1).max(MAX_API_KEYS).optional(),
    })
    .refine(({ api_key, api_keys }) => api_key === undefined || api_keys === undefined, {
      message: 'has both api_key and api_keys',
    }),
);

/** `problems` are for the operator: they name the entry and the field, never a value. */
export interface ProvidersFile {
  readonly instances: readonly ProviderInstance[];
  readonly problems: readonly string[];
}

/**
 * Reads a YAML list of provider instances. `${NAME}` in a value stands for an environment variable. `null`: no file.
 */
export function readProviderInstances(
  file: string | null,
  environment: Readonly<Record<string, string | undefined>>,
): ProvidersFile {
  if (file === null) return { instances: [], problems: [] };
  let content: unknown;
  try {
    content = load(readFileSync(file, 'utf8'));
  } catch (error) {
    // The message of a YAML error quotes the file, which may hold keys.
    const reason = error instanceof YAMLException ? 'it is not YAML' : (error as NodeJS.ErrnoException).code;
    return { instances: [], problems: [`PROVIDERS_FILE cannot be read: ${reason}`] };
  }
  const unset = new Set<string>();
  const parsed = fileSchema.safeParse(expand(content, environment, unset));
  const problems = Array.from(unset, (name) => `PROVIDERS_FILE uses ${name}, which is not set`);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(
      ({ path, message }) => `PROVIDERS_FILE, entry ${path.join('.')}: ${message}`,
    );
    return { instances: [], problems: [...problems, ...faults] };
  }
  const instances = parsed.data.map(toInstance);
  const ids = instances.map(({ id }) => id);
  for (const id of new Set(ids.filter((each, at) => ids.indexOf(each) !== at))) {
    problems.push(`PROVIDERS_FILE has two entries with the id ${id}`);
  }
  return { instances, problems };
}

/** Replaces the references in a value; adds the names of variables that are not set to `unset`. */
function expand(
  value: unknown,
  environment: Readonly<Record<string, string | undefined>>,
  unset: Set<string>,
): unknown {
  if (Array.isArray(value)) return value.map((part) => expand(part, environment, unset));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, expand(part, environment, unset)]));
  }
  if (typeof value !== 'string') return value;
  return value.replace(REFERENCE, (_reference, name: string) => {
    const replacement = environment[name];
    if (replacement !== undefined) return replacement;
    unset.add(name);
    // A valid placeholder, so that the same start reports the other faults of the file.
    return 'http://unset';
  });
}

function toInstance({
  id,
  module,
  base_url,
  api_key,
  api_keys,
}: z.output<typeof fileSchema>[number]): ProviderInstance {
  const single = api_key === undefined ? [] : [{ key: api_key, weight: 1 }];
  return { id, module, baseUrl: base_url ?? null, apiKeys: api_keys ?? single };
}
