/** The gateway's names of request fields that the catalogue can map to an upstream's fields. */
export const MAPPED_FIELDS = [
  'prompt',
  'duration_seconds',
  'resolution',
  'aspect_ratio',
  'audio',
  'image_url',
  'end_image_url',
  'input_images',
  'mask',
  'n',
  'size',
  'quality',
  'style',
  'user',
  'format',
  'sample_rate',
  'instrumental',
  'input',
  'voice',
  'speed',
  'instructions',
] as const;
export type MappedField = (typeof MAPPED_FIELDS)[number];

export type JsonScalar = string | number | boolean | null;

export interface FieldTarget {
  /** The upstream's field; dots separate nested objects. */
  readonly to: string;
  /** The upstream's values, keyed by the gateway's as text; other values are refused before anything is sent. */
  readonly values?: Readonly<Record<string, JsonScalar>>;
  /** Text in which `{}` stands for the value. */
  readonly format?: string;
  /**
   * `text`: as a string; `milliseconds`: from seconds; `list`: in an array; `single`: the only value of an array;
   * `width_height`: `1024x768` as an object with two numbers; `width`, `height`: one of these two numbers.
   */
  readonly as?: 'text' | 'milliseconds' | 'list' | 'single' | 'width_height' | 'width' | 'height';
}

/** One or more fields of the upstream. An empty list: the upstream always does what the field asks for. */
export type FieldTargets = string | FieldTarget | readonly FieldTarget[];

export function listTargets(targets: FieldTargets): readonly FieldTarget[] {
  if (typeof targets === 'string') return [{ to: targets }];
  return Array.isArray(targets) ? (targets as readonly FieldTarget[]) : [targets as FieldTarget];
}

/** The result, as paths into the upstream's document: `$`, `.name`, `[0]` and `[*]`, for example `$.images[*].url`. */
export interface MappedOutput {
  readonly video?: string;
  readonly audio?: string;
  readonly image?: string;
  /** The duration of the result. */
  readonly seconds?: string;
  /** For speech: the only format that the upstream has. The gateway encodes the others from it. */
  readonly audio_format?: 'wav' | 'pcm';
}

/** How a deployment's upstream names the fields of requests and results. */
export interface RequestMapping {
  readonly map: Readonly<Partial<Record<MappedField, FieldTargets>>>;
  /** Input that every request contains. */
  readonly fixed?: Readonly<Record<string, JsonScalar>>;
  readonly output: MappedOutput;
}
