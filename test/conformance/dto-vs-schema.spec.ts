import { SpeechRequestDto } from '../../src/audio/dto/speech-request.dto';
import { TranscriptionFieldsDto } from '../../src/audio/dto/transcription-fields.dto';
import { ChatCompletionRequestDto } from '../../src/chat/dto/chat-completion-request.dto';
import { CompletionRequestDto } from '../../src/chat/completions/dto/completion-request.dto';
import type { components } from '../../src/contract/api';
import type { Mirrors } from '../../src/contract/mirrors';
import { ImageEditRequestDto, ImageRequestDto } from '../../src/images/dto/image-request.dto';
import { MusicRequestDto } from '../../src/media-jobs/dto/music-request.dto';
import { VideoRequestDto } from '../../src/media-jobs/dto/video-request.dto';
import { ResponseRequestDto } from '../../src/responses/dto/response-request.dto';
import { EmbeddingRequestDto } from '../../src/chat/embeddings/dto/embedding-request.dto';
import { CHAT_BODIES } from './chat-bodies';
import { describePairs, type Pair } from './dto-pairs';
import { IMAGE_BODIES, IMAGE_EDIT_BODIES } from './image-bodies';
import { MUSIC_BODIES, VIDEO_BODIES } from './job-bodies';
import { COMPLETION_BODIES, EMBEDDING_BODIES } from './text-bodies';
import { RESPONSE_BODIES } from './response-bodies';

type Schemas = components['schemas'];

/** Does not compile unless the class mirrors the schema's generated type; the message names what `differs`. */
function pair<Name extends keyof Schemas, Dto extends object>(
  schema: Name,
  dto: (new () => Dto) & (Mirrors<Dto, Schemas[Name]> extends true ? unknown : Mirrors<Dto, Schemas[Name]>),
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

describePairs(PAIRS, 'openapi');
