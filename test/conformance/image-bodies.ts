/** Bodies of image requests, good ones and bad ones, in places where the derived ones do not reach. */
const MODEL = 'mock/image-1';
const SOURCE = 'data:image/png;base64,AAAA';
const PROMPT_CHARACTERS = 32_000;

const fields: readonly object[] = [
  // Presentation selectors and halves of surrogate pairs are code points, too.
  ...[-1, 0, 1].flatMap((more) =>
    ['a', '😀', '\uD83D', '\uFE0F'].map((character) => ({ prompt: character.repeat(PROMPT_CHARACTERS + more) })),
  ),
  { prompt: '❤\uFE0F'.repeat(PROMPT_CHARACTERS / 2) },
  { prompt: `${'❤\uFE0F'.repeat(PROMPT_CHARACTERS / 2)}❤` },
  ...[
    '1x1',
    '1024x1024',
    '99999x1',
    '100000x1',
    '0x1',
    '1x0',
    '01x1',
    '1X1',
    '1x',
    'x1',
    '1x1 ',
    ' 1x1',
    '1x1\n',
    'auto',
  ].map((size) => ({ size })),
  ...[0, 1, 10, 11, 1.5, '1', null].map((n) => ({ n })),
  ...['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max', 'auto', 'ultra', 'HD', '', null].map((quality) => ({
    quality,
  })),
  ...['png', 'jpeg', 'webp', 'gif', 'PNG', null].map((format) => ({ output_format: format })),
  ...['transparent', 'opaque', 'auto', 'none', null].map((background) => ({ background })),
  ...[-1, 0, 50.5, 100, 101, '50', null].map((compression) => ({ output_compression: compression })),
  ...['low', 'medium', 'high', 'max', null].map((complexity) => ({ complexity })),
  ...['low', 'auto', 'high', null].map((moderation) => ({ moderation })),
  ...['low', 'high', 'auto', null].map((fidelity) => ({ input_fidelity: fidelity })),
  ...['url', 'b64_json', 'b64', null].map((format) => ({ response_format: format })),
  ...[true, false, null, 'false', 0].map((stream) => ({ stream })),
  ...['', 'vivid', null, 7].map((style) => ({ style })),
];

const sources: readonly unknown[] = [
  null,
  [],
  [SOURCE],
  Array(10).fill(SOURCE),
  Array(11).fill(SOURCE),
  [SOURCE, null],
  [SOURCE, 'short'],
  ['HTTPS://files.example/a.png'],
  ['https:///a.png'],
  ['http://files.example/a.png'],
  ['data:text/plain;base64,AAAA'],
  ['iVBORw0KGgoAAAAN'],
  ['iVBORw0KGgoAAAA'],
  ['iVBOR-0KGgo_AAAAN'],
  SOURCE,
  {},
];

export const IMAGE_BODIES: readonly unknown[] = [
  ...fields.map((each) => ({ model: MODEL, prompt: 'a cat', ...each })),
  ...sources.map((images) => ({ model: MODEL, prompt: 'a cat', input_images: images })),
];
export const IMAGE_EDIT_BODIES: readonly unknown[] = IMAGE_BODIES.map((body) => ({
  input_images: [SOURCE],
  ...(body as object),
}));
