import { Transform } from 'class-transformer';
import { IsBoolean, IsInt, IsObject, IsOptional, Max, Min } from 'class-validator';
import { CodePointLength } from '../../../core/validation/code-points';
import { QueryText } from '../../../core/validation/query-fields';
import { RateLimitsDto } from './rate-limits.dto';

/** The document's `ModelUpdate`. */
export class ModelUpdateDto extends RateLimitsDto {
  /** Null: use the catalogue files. */
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;
}

export class DeploymentsQuery {
  /** Id of a model. */
  @QueryText({ max: 256 })
  model?: string;
}

/** The document's `DeploymentUpdate`; null: use the catalogue files. */
export class DeploymentUpdateDto {
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(1000)
  priority?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  weight?: number | null;
}

/** The document's `PriceVersionEnd`. */
export class PriceVersionEndDto {
  @IsOptional()
  @CodePointLength(1, 40)
  effective_to?: string | null;

  @CodePointLength(1, 500)
  reference!: string;
}

/** The document's `PriceVersionCreation`. `price` is validated like a price in a catalogue file. */
export class PriceVersionCreationDto {
  @IsOptional()
  @CodePointLength(1, 100)
  deployment_id?: string | null;

  @IsOptional()
  @CodePointLength(1, 40)
  effective_from?: string | null;

  @IsOptional()
  @CodePointLength(1, 40)
  effective_to?: string | null;

  @CodePointLength(1, 500)
  reference!: string;

  /** As received, so that the catalogue's schema sees every name. */
  @Transform(({ obj }: { obj: PriceVersionCreationDto }) => obj.price)
  @IsObject()
  price!: Record<string, unknown>;
}
