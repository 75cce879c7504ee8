import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { SpeechRequestDto } from '../../src/audio/dto/speech-request.dto';
import { TranscriptionFieldsDto } from '../../src/audio/dto/transcription-fields.dto';
import { ChatCompletionRequestDto } from '../../src/chat/dto/chat-completion-request.dto';
import { compileValidator } from '../../src/common/validation/compiled-validator';
import type { DtoClass } from '../../src/common/validation/nested';
import { CompletionRequestDto } from '../../src/completions/dto/completion-request.dto';
import type { components } from '../../src/contract/api';
import type { Mirrors } from '../../src/contract/mirrors';
import { ImageEditRequestDto } from '../../src/images/dto/image-edit-request.dto';
import { ImageRequestDto } from '../../src/images/dto/image-request.dto';
import { MusicRequestDto } from '../../src/media-jobs/dto/music-request.dto';
import { VideoRequestDto } from '../../src/media-jobs/dto/video-request.dto';
import { ResponseRequestDto } from '../../src/responses/dto/response-request.dto';
import { EmbeddingRequestDto } from '../../src/embeddings/dto/embedding-request.dto';
import { openapiDocument } from '../harness/openapi-document';
import { schemaValidator } from '../harness/openapi-validator';
import { CHAT_BODIES } from './chat-bodies';
import { IMAGE_BODIES, IMAGE_EDIT_BODIES } from './image-bodies';
import { MUSIC_BODIES, VIDEO_BODIES } from './job-bodies';
import { COMPLETION_BODIES, EMBEDDING_BODIES } from './text-bodies';
import { RESPONSE_BODIES } from './response-bodies';
import { SchemaCases } from './schema-cases';

type Schemas = components['schemas'];

interface Pair {
  readonly schema: string;
  readonly dto: DtoClass;
  /** Bodies picked by hand, in addition to the derived ones. */
  readonly bodies: readonly unknown[];
}

/** Does not compile unless the class mirrors the schema's generated type. */
function pair<Name extends keyof Schemas, Dto extends object>(
  schema: Name,
  dto: Mirrors<Dto, Schemas[Name]> extends true ? new () => Dto : never,
  bodies: readonly unknown[] = [],
): Pair {
  return { schema, dto, bodies };
}

/** Every request schema that has a DTO. */
const PAIRS = [
  pair<'ChatCompletionRequest', ChatCompletionRequestDto>(
    'ChatCompletionRequest',
    ChatCompletionRequestDto,
    CHAT_BODIES,
  ),
  pair<'CompletionRequest', CompletionRequestDto>('CompletionRequest', CompletionRequestDto, COMPLETION_BODIES),
  pair<'EmbeddingRequest', EmbeddingRequestDto>('EmbeddingRequest', EmbeddingRequestDto, EMBEDDING_BODIES),
  pair<'ImageRequest', ImageRequestDto>('ImageRequest', ImageRequestDto, IMAGE_BODIES),
  pair<'ImageEditRequest', ImageEditRequestDto>('ImageEditRequest', ImageEditRequestDto, IMAGE_EDIT_BODIES),
  pair<'ResponseRequest', ResponseRequestDto>('ResponseRequest', ResponseRequestDto, RESPONSE_BODIES),
  pair<'SpeechRequest', SpeechRequestDto>('SpeechRequest', SpeechRequestDto),
  pair<'VideoRequest', VideoRequestDto>('VideoRequest', VideoRequestDto, VIDEO_BODIES),
  pair<'MusicRequest', MusicRequestDto>('MusicRequest', MusicRequestDto, MUSIC_BODIES),
  pair<'TranscriptionFields', TranscriptionFieldsDto>('TranscriptionFields', TranscriptionFieldsDto),
];

const cases = new SchemaCases(openapiDocument());

describe.each(PAIRS)('$schema', ({ schema, dto, bodies }) => {
  const accepts = { schema: schemaValidator(schema), dto: compileValidator(dto) };
  const all = [...bodies, ...cases.of(schema)];

  it('has a valid sample to derive cases from', () => {
    expect(accepts.schema(cases.sample(schema))).toBe(true);
  });

  it('gets the same verdict from the DTO and from the document on every derived case', () => {
    const verdicts = all.map((body) => ({ body, document: accepts.schema(body), dto: accepts.dto(body).length === 0 }));
    expect(verdicts.filter(({ document, dto: own }) => document !== own)).toEqual([]);
    expect(verdicts.filter(({ document }) => document === true).length).toBeGreaterThan(50);
    expect(verdicts.filter(({ document }) => document === false).length).toBeGreaterThan(50);
  });

  it("gets the same verdict from the compiled rules and from class-validator's own executor", () => {
    const objects = all.filter((body) => typeof body === 'object' && body !== null && !Array.isArray(body));
    const differing = objects.filter((body) => (accepts.dto(body).length === 0) !== passesClassValidator(dto, body));
    expect(differing).toEqual([]);
  });
});

function passesClassValidator(dto: DtoClass, body: unknown): boolean {
  try {
    return validateSync(plainToInstance(dto, body) as object).length === 0;
  } catch {
    // class-transformer fails on null among objects whose class a tag decides; the body is invalid either way.
    return false;
  }
}
