import { IsBoolean, IsInt, IsObject, IsOptional, Max, Min } from 'class-validator';
import { CodePointLength } from '../../../common/validation/code-points';
import { QueryText } from '../../../common/validation/valid-query.pipe';
import { RateLimitsDto } from './rate-limits.dto';

/** The document's `ModelUpdate`. */
export class ModelUpdateDto extends RateLimitsDto {
  /** Null: as the files say. */
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;
}

export class DeploymentsQuery {
  /** Id of a model. */
  @QueryText({ max: 256 })
  model?: string;
}

/** The document's `DeploymentUpdate`; null: as the files say. */
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

/** The document's `PriceVersionCreation`. What `price` holds is judged as in a file of the catalogue. */
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

  @IsObject()
  price!: Record<string, unknown>;
}
