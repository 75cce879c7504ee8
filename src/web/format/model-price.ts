import type { Model } from '../../contract/dashboard';

type Pricing = Model['pricing'];
type TokenRates = NonNullable<Pricing['tokens']>['per_1m_micro'];

/** One price: `$0.10` per `1M tokens`. */
export interface PriceLine {
  /** For example `Input` or `1080p, with sound`. */
  readonly label: string;
  readonly micro: number;
  /** For example `1M tokens` or `second`. */
  readonly unit: string;
}

const TOKEN_CLASSES: ReadonlyArray<readonly [keyof TokenRates, string]> = [
  ['input', 'Input'],
  ['output', 'Output'],
  ['cache_read', 'Cached input'],
  ['cache_write_5m', 'Cache write, 5 minutes'],
  ['cache_write_1h', 'Cache write, 1 hour'],
  ['reasoning', 'Reasoning'],
  ['image_in', 'Image input'],
  ['image_cache_read', 'Cached image input'],
  ['image_out', 'Image output'],
  ['audio_in', 'Audio input'],
  ['audio_cache_read', 'Cached audio input'],
  ['audio_out', 'Audio output'],
];

const ANY = '*';

/** Every price of a model, the most important first. */
export function priceLines(pricing: Pricing): readonly PriceLine[] {
  const { tokens, image, video, music, speech, transcription, request } = pricing;
  const lines: PriceLine[] = [];
  const add = (label: string, micro: number | undefined, unit: string): void => {
    if (micro !== undefined) lines.push({ label, micro, unit });
  };
  if (tokens !== undefined) lines.push(...tokenLines(tokens.per_1m_micro));
  for (const { size, quality, per_image_micro: micro } of image?.rows ?? []) {
    const label = rowLabel([size, quality], 'Image');
    add(image?.estimate_only === true ? `${label}, estimate` : label, micro, 'image');
  }
  for (const { resolution, audio, per_second_micro: micro, min_seconds: least } of video?.rows ?? []) {
    const sound = audio === true ? 'with sound' : audio === false ? 'without sound' : undefined;
    const label = rowLabel([resolution, sound], 'Video');
    add(least === undefined ? label : `${label}, at least ${least} s`, micro, 'second');
  }
  add('Video', video?.per_job_micro, 'job');
  add('Music', music?.per_second_micro, 'second');
  add('Music', music?.per_job_micro, 'job');
  add('Text to speak', speech?.per_1k_chars_micro, '1K characters');
  const { per_minute_micro: perMinute, min_seconds: shortest } = transcription ?? {};
  add(shortest === undefined ? 'Recording' : `Recording, at least ${shortest} s`, perMinute, 'minute');
  add('Request', request?.per_request_micro, 'request');
  return lines;
}

/** The rates that apply to a whole request above a length of its input. */
export function priceTiers(pricing: Pricing): ReadonlyArray<{
  readonly aboveInputTokens: number;
  readonly lines: readonly PriceLine[];
}> {
  return (pricing.tokens?.tiers ?? []).map((tier) => ({
    aboveInputTokens: tier.above_input_tokens,
    lines: tokenLines(tier.per_1m_micro),
  }));
}

function tokenLines(rates: TokenRates): PriceLine[] {
  return TOKEN_CLASSES.flatMap(([name, label]) => {
    const micro = rates[name];
    return micro === undefined ? [] : [{ label, micro, unit: '1M tokens' }];
  });
}

function rowLabel(parts: ReadonlyArray<string | undefined>, otherwise: string): string {
  const given = parts.filter((part) => part !== undefined && part !== ANY);
  return given.length === 0 ? otherwise : given.join(', ');
}
