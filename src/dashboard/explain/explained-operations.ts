import { Injectable } from '@nestjs/common';
import { TranscriptionFieldsDto } from '../../audio/dto/transcription-fields.dto';
import { SpeechRequestDto } from '../../audio/dto/speech-request.dto';
import { SpeechService } from '../../audio/speech.service';
import { TranscriptionService } from '../../audio/transcription.service';
import type { Operation } from '../../billing/usage/operations';
import { ChatService } from '../../chat/chat.service';
import { ChatCompletionRequestDto } from '../../chat/dto/chat-completion-request.dto';
import { GatewayError } from '../../core/errors/gateway-error';
import type { RequestContext } from '../../core/types/request-context';
import { ValidBody } from '../../core/validation/valid-body.pipe';
import { CompletionsService } from '../../chat/completions/completions.service';
import { CompletionRequestDto } from '../../chat/completions/dto/completion-request.dto';
import { EmbeddingRequestDto } from '../../chat/embeddings/dto/embedding-request.dto';
import { EmbeddingsService } from '../../chat/embeddings/embeddings.service';
import { ImageEditRequestDto, ImageRequestDto } from '../../images/dto/image-request.dto';
import { ImagesService } from '../../images/images.service';
import type { ExplainedRequest } from '../../inference/explanation.types';
import type { InferenceInput } from '../../inference/inference.types';
import { MusicRequestDto } from '../../media-jobs/dto/music-request.dto';
import { VideoRequestDto } from '../../media-jobs/dto/video-request.dto';
import { orderMusic, orderVideo } from '../../media-jobs/job-order';
import { JobSubmissionService } from '../../media-jobs/job-submission.service';
import { ResponseRequestDto } from '../../responses/dto/response-request.dto';
import { ResponsesService } from '../../responses/responses.service';

type Understanding = (request: Readonly<Record<string, unknown>>, context: RequestContext) => ExplainedRequest;

/** One day of audio; larger than any accepted file. */
const MAX_AUDIO_SECONDS = 86_400;

/** Parses the body of each operation that spends, with that operation's validation and interpretation. */
@Injectable()
export class ExplainedOperations {
  private readonly understandings: Readonly<Record<Operation, Understanding>>;

  constructor(
    chat: ChatService,
    completions: CompletionsService,
    responses: ResponsesService,
    embeddings: EmbeddingsService,
    images: ImagesService,
    speech: SpeechService,
    transcriptions: TranscriptionService,
    jobs: JobSubmissionService,
  ) {
    this.understandings = {
      createChatCompletion: understanding(ChatCompletionRequestDto, (body, context) => chat.describe(body, context)),
      createCompletion: understanding(CompletionRequestDto, (body, context) => completions.describe(body, context)),
      createResponse: understanding(ResponseRequestDto, (body, context) => responses.describe(body, context)),
      createEmbedding: understanding(EmbeddingRequestDto, (body, context) => embeddings.describe(body, context)),
      createImage: whole(ImageRequestDto, (body, context) => images.describe(body, context)),
      createImageEdit: whole(ImageEditRequestDto, (body, context) =>
        images.describeEdit({ body, form: null }, context),
      ),
      createSpeech: whole(SpeechRequestDto, (body, context) => speech.describe(body, context)),
      createTranscription: transcription(transcriptions),
      createVideo: understanding(VideoRequestDto, (body, context) => jobs.describe(orderVideo(body), context)),
      createMusic: understanding(MusicRequestDto, (body, context) => jobs.describe(orderMusic(body), context)),
    };
  }

  /**
   * Returns a function that interprets the request and throws the operation's refusal.
   * @param unfaithful why the body cannot be forwarded unchanged
   * @throws GatewayError `validation_failed` when the request cannot be explained
   */
  understand(
    operation: Operation,
    request: Readonly<Record<string, unknown>>,
    context: RequestContext,
    unfaithful: GatewayError | null,
  ): () => ExplainedRequest {
    if (operation === 'createTranscription') assertHasDuration(request);
    return () => {
      if (unfaithful !== null) throw withinRequest(unfaithful);
      return this.understandings[operation](request, context);
    };
  }
}

function understanding<Dto extends object>(
  dto: new () => Dto,
  describe: (body: Dto, context: RequestContext) => ExplainedRequest,
): Understanding {
  const valid = new ValidBody(dto);
  return (request, context) => describe(valid.transform(request), context);
}

/**
 * For operations whose steps after validation are the shared ones, and whose adapters accept what the catalogue
 * accepts.
 */
function whole<Dto extends object>(
  dto: new () => Dto,
  describe: (body: Dto, context: RequestContext) => InferenceInput,
): Understanding {
  return understanding(dto, (body, context) => ({ input: describe(body, context) }));
}

/** The audio file cannot be sent here, so the request has its duration instead. */
function transcription(transcriptions: TranscriptionService): Understanding {
  const valid = new ValidBody(TranscriptionFieldsDto);
  return ({ duration_seconds: seconds, ...fields }, context) => ({
    input: transcriptions.describe(valid.transform(fields), seconds as number, context),
  });
}

/** The error as the operation itself would return it, but with `request` in place of the operation's body. */
function withinRequest({ code, message, param = '' }: GatewayError): GatewayError {
  const inner = param.replace(/^request\.?/, '');
  return new GatewayError(code, message.replace(param, inner || 'The request body'), { param: inner || undefined });
}

function assertHasDuration({ duration_seconds: seconds }: Readonly<Record<string, unknown>>): void {
  if (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_AUDIO_SECONDS) return;
  const message = `duration_seconds must be the length of the audio: more than 0, at most ${MAX_AUDIO_SECONDS}.`;
  throw new GatewayError('validation_failed', message, { param: 'request.duration_seconds' });
}
