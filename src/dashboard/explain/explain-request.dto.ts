import { Transform } from 'class-transformer';
import { IsIn, IsObject, IsOptional, IsString } from 'class-validator';
import { type Operation, OPERATIONS } from '../../billing/usage/operations';

/** The document's `ExplainRequest`. */
export class ExplainRequestDto {
  @IsString()
  key_id!: string;

  @IsIn(OPERATIONS)
  operation!: Operation;

  @IsOptional()
  @IsString()
  client_ip?: string | null;

  /** As received: the pipe copies objects, and the copy leaves out some names. */
  @Transform(({ obj }: { obj: ExplainRequestDto }) => obj.request)
  @IsObject()
  request!: Record<string, unknown>;
}
