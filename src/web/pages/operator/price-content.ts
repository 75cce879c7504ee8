/**
 * The amounts in the content of a price, by their path in the document, so that a form needs to know neither modalities
 * nor later kinds of prices.
 */
import type { Modality } from '../../../contract/dashboard';

export type PriceContent = Readonly<Record<string, unknown>>;

export interface PriceAmount {
  /** For example `tokens.per_1m_micro.input`. */
  readonly path: string;
  readonly label: string;
  /** For example `1M tokens`. */
  readonly per: string;
  /** Null: the price does not have it. */
  readonly micro: number | null;
  readonly required: boolean;
}

const PER: Readonly<Record<string, string>> = {
  per_1m_micro: '1M tokens',
  per_image_micro: 'image',
  per_second_micro: 'second',
  per_job_micro: 'job',
  per_minute_micro: 'minute',
  per_1k_chars_micro: '1K characters',
  per_request_micro: 'request',
  per_usd_micro: 'dollar of the provider',
  per_unit_micro: 'unit of the provider',
  per_megapixel_micro: 'megapixel',
};

const KINDS: Readonly<Record<string, string>> = {
  image: 'Image',
  video: 'Video',
  music: 'Music',
  speech: 'Speech',
  transcription: 'Transcription',
  request: 'Request',
  vendor_cost: 'Cost at the provider',
  unit: 'Unit',
  megapixel: 'Megapixel',
};

const TOKEN_CLASSES: Readonly<Record<string, string>> = {
  input: 'Input',
  output: 'Output',
  cache_read: 'Cache read',
  cache_write_5m: 'Cache write, 5 min',
  cache_write_1h: 'Cache write, 1 h',
  reasoning: 'Reasoning',
  image_in: 'Image input',
  image_cache_read: 'Image cache read',
  image_out: 'Image output',
  audio_in: 'Audio input',
  audio_cache_read: 'Audio cache read',
  audio_out: 'Audio output',
};

const REQUIRED_CLASSES: ReadonlySet<string> = new Set(['input', 'output']);

/** What a new price of a model without one looks like. */
export const EMPTY_PRICES: Readonly<Record<Modality, PriceContent>> = {
  text: { tokens: { per_1m_micro: { input: null, output: null } } },
  embedding: { tokens: { per_1m_micro: { input: null, output: 0 } } },
  image: { image: { rows: [{ per_image_micro: null }] } },
  speech: { speech: { per_1k_chars_micro: null } },
  transcription: { transcription: { per_minute_micro: null } },
  video: { video: { rows: [{ per_second_micro: null }] } },
  music: { music: { per_second_micro: null } },
};

/** Every amount of the price. @param withMissing adds the token classes that it has no rate for */
export function amountsOf(price: PriceContent, withMissing = false): readonly PriceAmount[] {
  return Object.entries(price).flatMap(([kind, value]) =>
    kind === 'tokens' ? tokenAmounts(recordOf(value), withMissing) : kindAmounts(kind, recordOf(value)),
  );
}

function tokenAmounts(tokens: PriceContent, withMissing: boolean): PriceAmount[] {
  const tiers = listOf(tokens.tiers).map(recordOf);
  return [
    ...rateAmounts('tokens', '', tokens, withMissing),
    ...tiers.flatMap((tier, at) => {
      const above = Number(tier.above_input_tokens).toLocaleString('en-US');
      return rateAmounts(`tokens.tiers.${at}`, `, above ${above} input tokens`, tier, withMissing);
    }),
  ];
}

function rateAmounts(path: string, suffix: string, of: PriceContent, withMissing: boolean): PriceAmount[] {
  const rates = recordOf(of.per_1m_micro);
  return Object.entries(TOKEN_CLASSES)
    .filter(([name]) => withMissing || name in rates)
    .map(([name, label]) => ({
      path: `${path}.per_1m_micro.${name}`,
      label: `${label}${suffix}`,
      per: PER.per_1m_micro ?? '',
      micro: microOf(rates[name]),
      required: REQUIRED_CLASSES.has(name),
    }));
}

function kindAmounts(kind: string, content: PriceContent): PriceAmount[] {
  const rows = listOf(content.rows).map(recordOf);
  const label = KINDS[kind] ?? kind;
  return [
    ...rows.flatMap((row, at) => leafAmounts(`${kind}.rows.${at}`, rowLabel(label, row), row)),
    ...leafAmounts(kind, label, content),
  ];
}

function leafAmounts(path: string, label: string, content: PriceContent): PriceAmount[] {
  return Object.entries(content)
    .filter(([name]) => name in PER)
    .map(([name, value]) => ({
      path: `${path}.${name}`,
      label,
      per: PER[name] ?? '',
      micro: microOf(value),
      required: true,
    }));
}

/** `Video, 1080p, with audio`. `*` matches anything, so it is not named. */
function rowLabel(kind: string, row: PriceContent): string {
  const { size, quality, resolution, audio } = row;
  const words = [size, quality, resolution].filter((word) => typeof word === 'string' && word !== '*');
  if (typeof audio === 'boolean') words.push(audio ? 'with audio' : 'without audio');
  return words.length === 0 ? `${kind}, any` : [kind, ...words].join(', ');
}

/** What else the price says, for example the shortest length that is charged. */
export function conditionsOf(price: PriceContent): readonly string[] {
  const image = recordOf(price.image);
  const transcription = recordOf(price.transcription);
  const shortest = listOf(recordOf(price.video).rows).map((row) => recordOf(row).min_seconds);
  const seconds = shortest.filter((length) => typeof length === 'number');
  return [
    ...(image.estimate_only === true ? ['Image prices only set the hold; the charge is by tokens.'] : []),
    ...(typeof transcription.round_up_to_s === 'number' ? [`Rounded up to ${transcription.round_up_to_s} s.`] : []),
    ...(typeof transcription.min_seconds === 'number' ? [`At least ${transcription.min_seconds} s of audio.`] : []),
    ...(seconds.length > 0 ? [`At least ${Math.min(...seconds)} s of video.`] : []),
  ];
}

/** A copy of the price with other amounts by path; null removes an amount. */
export function withAmounts(price: PriceContent, amounts: ReadonlyMap<string, number | null>): Record<string, unknown> {
  return copyOf(price, '', amounts) as Record<string, unknown>;
}

function copyOf(value: unknown, path: string, amounts: ReadonlyMap<string, number | null>): unknown {
  const below = (name: string | number): string => (path === '' ? String(name) : `${path}.${name}`);
  if (Array.isArray(value)) return value.map((each, at) => copyOf(each, below(at), amounts));
  if (typeof value !== 'object' || value === null) return value;
  const copy = new Map<string, unknown>();
  for (const [name, each] of Object.entries(value)) copy.set(name, copyOf(each, below(name), amounts));
  for (const [at, micro] of amounts) {
    const name = at.slice(path === '' ? 0 : path.length + 1);
    if ((path !== '' && !at.startsWith(`${path}.`)) || name.includes('.')) continue;
    if (micro === null) copy.delete(name);
    else copy.set(name, micro);
  }
  return Object.fromEntries(copy);
}

function recordOf(value: unknown): PriceContent {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function microOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
