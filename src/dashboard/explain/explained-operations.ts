import { Injectable } from '@nestjs/common';
import { TranscriptionFieldsDto } from '../../audio/dto/transcription-fields.dto';
import { SpeechRequestDto } from '../../audio/dto/speech-request.dto';
import { SpeechService } from '../../audio/speech.service';
import { TranscriptionService } from '../../audio/transcription.service';
import { ChatService } from '../../chat/chat.service';
import { ChatCompletionRequestDto } from '../../chat/dto/chat-completion-request.dto';
import { GatewayError } from '../../common/errors/gateway-error';
import type { RequestContext } from '../../common/request-context';
import { ValidBody } from '../../common/validation/valid-body.pipe';
import { CompletionsService } from '../../completions/completions.service';
import { CompletionRequestDto } from '../../completions/dto/completion-request.dto';
import { EmbeddingRequestDto } from '../../embeddings/dto/embedding-request.dto';
import { EmbeddingsService } from '../../embeddings/embeddings.service';
import { ImageEditRequestDto } from '../../images/dto/image-edit-request.dto';
import { ImageRequestDto } from '../../images/dto/image-request.dto';
import { ImagesService } from '../../images/images.service';
import type { ExplainedRequest } from '../../inference/explanation.types';
import type { InferenceInput } from '../../inference/inference.types';
import { MusicRequestDto } from '../../media-jobs/dto/music-request.dto';
import { VideoRequestDto } from '../../media-jobs/dto/video-request.dto';
import { orderMusic, orderVideo } from '../../media-jobs/job-order';
import { JobSubmissionService } from '../../media-jobs/job-submission.service';
import { ResponseRequestDto } from '../../responses/dto/response-request.dto';
import { ResponsesService } from '../../responses/responses.service';
import type { ExplainedOperation } from './explain-request.dto';

type Understanding = (request: Readonly<Record<string, unknown>>, context: RequestContext) => ExplainedRequest;

/** A day of audio: nobody sends more in one file. */
const MAX_AUDIO_SECONDS = 86_400;

/** Each operation that spends, with its own rules: the body's, and what it makes of a body. */
@Injectable()
export class ExplainedOperations {
  private readonly understandings: Readonly<Record<ExplainedOperation, Understanding>>;

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
   * What the operation makes of a request, to be called when it is wanted: then it throws what the operation refuses.
   * @throws GatewayError `validation_failed` where the request is not one that can be explained
   */
  understand(
    operation: ExplainedOperation,
    request: Readonly<Record<string, unknown>>,
    context: RequestContext,
  ): () => ExplainedRequest {
    if (operation === 'createTranscription') assertHasDuration(request);
    return () => this.understandings[operation](request, context);
  }
}

function understanding<Dto extends object>(
  dto: new () => Dto,
  describe: (body: Dto, context: RequestContext) => ExplainedRequest,
): Understanding {
  const valid = new ValidBody(dto);
  return (request, context) => describe(valid.transform(request), context);
}

/** Where every step but the first is everybody's, and adapters take whatever the catalogue lets through. */
function whole<Dto extends object>(
  dto: new () => Dto,
  describe: (body: Dto, context: RequestContext) => InferenceInput,
): Understanding {
  return understanding(dto, (body, context) => ({ input: describe(body, context) }));
}

/** Its file cannot be sent here, so that its length is asked for instead. */
function transcription(transcriptions: TranscriptionService): Understanding {
  const valid = new ValidBody(TranscriptionFieldsDto);
  return ({ duration_seconds: seconds, ...fields }, context) => ({
    input: transcriptions.describe(valid.transform(fields), seconds as number, context),
  });
}

function assertHasDuration({ duration_seconds: seconds }: Readonly<Record<string, unknown>>): void {
  if (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_AUDIO_SECONDS) return;
  const message = `duration_seconds must be the length of the audio: more than 0, at most ${MAX_AUDIO_SECONDS}.`;
  throw new GatewayError('validation_failed', message, { param: 'request.duration_seconds' });
}
