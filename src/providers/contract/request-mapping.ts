/** Fields of requests under the gateway's names, which the catalogue maps to those of an upstream. */
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
  /** The upstream's field; a dot leads into an object. */
  readonly to: string;
  /** Its values by ours, as text; others are refused before anything is sent. */
  readonly values?: Readonly<Record<string, JsonScalar>>;
  /** Text in which `{}` stands for the value. */
  readonly format?: string;
  /**
   * `text`: as a string; `milliseconds`: of seconds; `list`: in an array; `single`: of an array
   * with one value; `width_height`: `1024x768` as an object of two
   * numbers; `width`, `height`: one of the two.
   */
  readonly as?: 'text' | 'milliseconds' | 'list' | 'single' | 'width_height' | 'width' | 'height';
}

/** A field of the upstream, or several; none: the upstream does in any case what the field asks for. */
export type FieldTargets = string | FieldTarget | readonly FieldTarget[];

export function listTargets(targets: FieldTargets): readonly FieldTarget[] {
  if (typeof targets === 'string') return [{ to: targets }];
  return Array.isArray(targets) ? (targets as readonly FieldTarget[]) : [targets as FieldTarget];
}

/** The result: paths into the upstream's document of `$`, `.name`, `[0]` and `[*]`, for example `$.images[*].url`. */
export interface MappedOutput {
  readonly video?: string;
  readonly audio?: string;
  readonly image?: string;
  /** The duration of the result. */
  readonly seconds?: string;
  /** Of speech: the only format that the upstream has. The gateway makes the others of it. */
  readonly audio_format?: 'wav' | 'pcm';
}

/** How a deployment's upstream names what requests and results contain. */
export interface RequestMapping {
  readonly map: Readonly<Partial<Record<MappedField, FieldTargets>>>;
  /** Input that every request has. */
  readonly fixed?: Readonly<Record<string, JsonScalar>>;
  readonly output: MappedOutput;
}
