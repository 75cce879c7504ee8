import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { compileValidator } from '../../src/core/validation/valid-body.pipe';
import { strictDto } from '../../src/core/validation/strict-dto.pipe';
import type { DtoClass } from '../../src/core/validation/nested';
import { nodeAt, openapiDocument, type DocumentName } from '../harness/openapi-document';
import { schemaValidator } from '../harness/openapi-validator';
import { SchemaCases } from './schema-cases';

/** A request schema and the class that mirrors it. */
export interface Pair {
  readonly schema: string;
  readonly dto: DtoClass;
  /** Bodies picked by hand, in addition to the derived ones. */
  readonly bodies: readonly unknown[];
}

/** DTO and schema must agree on every body derived from the schema. */
export function describePairs(pairs: readonly Pair[], name: DocumentName): void {
  const document = openapiDocument(name);
  const cases = new SchemaCases(document);

  describe.each(pairs)('$schema', ({ schema, dto, bodies }) => {
    const closed = nodeAt(document, `/components/schemas/${schema}`)?.value.additionalProperties === false;
    const accepts = { schema: schemaValidator(schema, name), dto: closed ? passesStrictDto(dto) : passesRules(dto) };
    const all = [...bodies, ...cases.of(schema)];

    it('has a valid sample to derive cases from', () => {
      expect(accepts.schema(cases.sample(schema))).toBe(true);
    });

    it('gets the same result from the DTO and the document for every derived case', async () => {
      const verdicts = await Promise.all(
        all.map(async (body) => ({ body, document: accepts.schema(body), dto: await accepts.dto(body) })),
      );
      expect(verdicts.filter(({ document: its, dto: own }) => its !== own)).toEqual([]);
      // A schema of a few fields gives few cases, but always some of each.
      const enough = name === 'openapi' ? 50 : 0;
      expect(verdicts.filter(({ document: its }) => its === true).length).toBeGreaterThan(enough);
      expect(verdicts.filter(({ document: its }) => its === false).length).toBeGreaterThan(enough);
    });

    if (closed) return;
    it("gets the same verdict from the compiled rules and from class-validator's own executor", () => {
      const rules = passesRules(dto);
      const objects = all.filter((body) => typeof body === 'object' && body !== null && !Array.isArray(body));
      const differing = objects.filter((body) => rules(body) !== passesClassValidator(dto, body));
      expect(differing).toEqual([]);
    });
  });
}

/** A body of `/v1`. */
function passesRules(dto: DtoClass): (body: unknown) => boolean {
  const issuesOf = compileValidator(dto);
  return (body) => issuesOf(body).length === 0;
}

/** A body of the control plane. */
function passesStrictDto(dto: DtoClass): (body: unknown) => Promise<boolean> {
  return (body) =>
    strictDto.transform(structuredClone(body), { type: 'body', metatype: dto }).then(
      () => true,
      () => false,
    );
}

function passesClassValidator(dto: DtoClass, body: unknown): boolean {
  try {
    return validateSync(plainToInstance(dto, body) as object).length === 0;
  } catch {
    // class-transformer fails on null among objects whose class a tag decides; the body is invalid either way.
    return false;
  }
}
