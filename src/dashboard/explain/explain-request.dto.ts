import { IsIn, IsObject, IsOptional, IsString } from 'class-validator';

/** The operations of `/v1` that spend. */
export const EXPLAINED_OPERATIONS = [
  'createChatCompletion',
  'createCompletion',
  'createResponse',
  'createEmbedding',
  'createImage',
  'createImageEdit',
  'createSpeech',
  'createTranscription',
  'createVideo',
  'createMusic',
] as const;
export type ExplainedOperation = (typeof EXPLAINED_OPERATIONS)[number];

/** The document's `ExplainRequest`. */
export class ExplainRequestDto {
  @IsString()
  key_id!: string;

  @IsIn(EXPLAINED_OPERATIONS)
  operation!: ExplainedOperation;

  @IsOptional()
  @IsString()
  client_ip?: string | null;

  @IsObject()
  request!: Record<string, unknown>;
}
