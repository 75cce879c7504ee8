import { plainToInstance } from 'class-transformer';
import {
  ArrayNotEmpty,
  Equals,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
  Validate,
  ValidateIf,
  ValidateNested,
  validateSync,
  ValidatorConstraint,
} from 'class-validator';
import * as fc from 'fast-check';
import { compileValidator } from './valid-body.pipe';
import { NestedArray, NestedObject, NestedVariant, NestedVariants, UnlessNull } from './nested';
import { IsNumberRecord, IsStringRecord } from './records';

class CircleDto {
  @Equals('circle')
  kind!: 'circle';

  @IsInt()
  @Min(1)
  @Max(9, { message: '$property may be $constraint1 at most' })
  radius!: number;
}

class LabelDto {
  @Equals('label')
  kind!: 'label';

  @NestedArray(LineDto(), { orString: true })
  text!: string | object[];
}

function LineDto(): new () => object {
  class Line {
    @IsString()
    words!: string;
  }
  return Line;
}

class LimitsDto {
  @IsOptional()
  @IsInt()
  width?: number | null;
}

class OptionsDto {
  @IsOptional()
  @IsIn(['fast', 'fine'])
  quality?: string | null;

  @IsOptional()
  @NestedObject(LimitsDto, { closed: true })
  limits?: LimitsDto | null;
}

class DrawingDto {
  @IsString()
  title!: string;

  @NestedVariants('kind', { circle: CircleDto, label: LabelDto })
  @ArrayNotEmpty()
  shapes!: (CircleDto | LabelDto)[];

  @IsOptional()
  @NestedObject(OptionsDto, { closed: true })
  options?: OptionsDto | null;

  @IsOptional()
  @NestedVariant('kind', { circle: CircleDto }, { orOneOf: ['none'] })
  frame?: string | CircleDto | null;

  @IsOptional()
  @IsString({ each: true })
  tags?: string[] | null;

  @UnlessNull()
  @IsString()
  note!: string | null;

  @IsOptional()
  @IsNumberRecord(-1, 1)
  weights?: Record<string, number> | null;

  @IsOptional()
  @IsStringRecord()
  labels?: Record<string, string> | null;

  @ValidateIf((drawing: DrawingDto) => drawing.title === 'sized')
  @IsInt()
  size?: number;

  @IsOptional()
  @IsInt({ validateIf: (_object, value) => value !== 'auto' })
  depth?: number | 'auto' | null;

  @IsOptional()
  @IsNumber()
  scale?: number | null;
}

const drawing = {
  title: 'sized',
  shapes: [
    { kind: 'circle', radius: 3 },
    { kind: 'label', text: [{ words: 'a' }] },
    { kind: 'label', text: 'b' },
  ],
  options: { quality: 'fast', limits: { width: 1 } },
  frame: { kind: 'circle', radius: 1 },
  tags: ['a', 'b'],
  note: null,
  weights: { a: 0.5 },
  labels: { a: 'b' },
  size: 4,
  depth: 'auto',
};

const issuesOf = compileValidator(DrawingDto);

function passesClassValidator(body: object): boolean {
  try {
    return validateSync(plainToInstance(DrawingDto, body)).length === 0;
  } catch {
    // class-transformer fails on null among objects whose class a tag decides; the body is invalid either way.
    return false;
  }
}

/** Every path within a JSON value, except the root. */
function pathsOf(value: unknown): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return keys.flatMap((key) => [[key], ...pathsOf(Reflect.get(value, key)).map((rest) => [key, ...rest])]);
}

function setAt(root: object, path: readonly (string | number)[], value: unknown): void {
  let parent: unknown = root;
  for (const step of path.slice(0, -1))
    parent = typeof parent === 'object' && parent !== null ? Reflect.get(parent, step) : null;
  const last = path.at(-1);
  if (typeof parent !== 'object' || parent === null || last === undefined) return;
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else Reflect.set(parent, last, value);
}

const replacement = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'none',
    'circle',
    0,
    1,
    9,
    10,
    1.5,
    true,
    [],
    [[]],
    [null],
    {},
    { kind: 'circle' },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

describe('compileValidator', () => {
  it('agrees with class-validator on arbitrary mutated bodies', () => {
    const damage = fc.array(
      fc.tuple(fc.constantFrom(...pathsOf(drawing), ['unknown'], ['options', 'extra']), replacement),
      {
        maxLength: 3,
      },
    );
    fc.assert(
      fc.property(damage, (changes) => {
        const damaged = structuredClone(drawing);
        for (const [path, value] of changes) setAt(damaged, path, structuredClone(value));
        const body = JSON.parse(JSON.stringify(damaged)) as object;
        expect(issuesOf(body).length === 0).toBe(passesClassValidator(body));
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts a valid body without changing it', () => {
    const body = Object.freeze({ ...drawing, unknown: 1 });
    expect(issuesOf(body)).toEqual([]);
  });

  it.each<[object, string, string]>([
    [{ title: 1 }, 'title', 'title must be a string'],
    [{ shapes: {} }, 'shapes', 'shapes must be an array'],
    [{ shapes: [] }, 'shapes', 'shapes should not be empty'],
    [{ shapes: [drawing.shapes[0], null] }, 'shapes[1]', 'shapes[1] must be an object'],
    [
      { shapes: [{ kind: 'star' }] },
      'shapes[0].kind',
      'shapes[0].kind must be one of the following values: circle, label',
    ],
    [{ shapes: [{ kind: 'circle', radius: 10 }] }, 'shapes[0].radius', 'shapes[0].radius may be 9 at most'],
    [
      { shapes: [{ kind: 'label', text: [{ words: 1 }] }] },
      'shapes[0].text[0].words',
      'shapes[0].text[0].words must be a string',
    ],
    [{ options: { colour: 1 } }, 'options.colour', 'options.colour is not a known field'],
    [{ options: { limits: { depth: 1 } } }, 'options.limits.depth', 'options.limits.depth is not a known field'],
    [{ frame: 'thick' }, 'frame', 'frame must be an object or one of the following values: none'],
    [{ shapes: [{ kind: 'label', text: 1 }] }, 'shapes[0].text', 'shapes[0].text must be a string or an array'],
    [{ tags: ['a', 'b', 3] }, 'tags[2]', 'tags[2] must be a string'],
    [{ scale: '2' }, 'scale', 'scale must be a number'],
    [{ weights: { a: 2 } }, 'weights', 'values of weights must be numbers from -1 to 1'],
  ])('reports for %j the path %s', (fields, param, message) => {
    expect(issuesOf({ ...drawing, ...fields })).toEqual([{ param, message }]);
  });

  it.each([null, [], 'text', 1])('refuses %j as a body', (body) => {
    expect(issuesOf(body)).toEqual([{ param: '', message: 'the body must be a JSON object' }]);
  });

  it('reports issues in the declaration order of the fields', () => {
    expect(issuesOf({ ...drawing, tags: 1, title: 1, shapes: 1 }).map(({ param }) => param)).toEqual([
      'title',
      'shapes',
      'tags',
    ]);
  });

  it('stops at 20 issues', () => {
    const shapes = Array.from({ length: 100_000 }, () => ({ kind: 'star' }));
    expect(issuesOf({ ...drawing, shapes })).toHaveLength(20);
  });

  it('never quotes request values in messages', () => {
    const text = JSON.stringify(
      issuesOf({ ...drawing, title: { secret: 'hunter2' }, frame: 'hunter2', tags: [{ hunter2: 1 }] }),
    );
    expect(text).not.toContain('hunter2');
  });

  it('refuses to compile unsupported rules', () => {
    @ValidatorConstraint({ name: 'later', async: true })
    class Later {
      validate(): Promise<boolean> {
        return Promise.resolve(true);
      }
    }
    class AsynchronousDto {
      @Validate(Later)
      name!: string;
    }
    class ForeignNestedDto {
      @ValidateNested()
      inner!: object;
    }
    expect(() => compileValidator(AsynchronousDto)).toThrow(/asynchronous/);
    expect(() => compileValidator(ForeignNestedDto)).toThrow(/nested/);
  });
});
