import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { DeploymentEntity } from './deployment.entity';
import { type CatalogSource, ModelEntity } from './model.entity';

/**
 * A price and its start time. Append-only by trigger: a correction is a new row with the next revision, and the highest
 * revision of a start time applies, so that every stored request can be priced again.
 */
@Entity('price_version')
@Check('price_version_source_check', `source IN ('builtin', 'file', 'admin')`)
@Check('price_version_revision_check', 'revision > 0')
@Check('price_version_period_check', 'effective_to > effective_from')
@Index('price_version_place_index', ['modelId', 'deploymentId', 'effectiveFrom', 'revision'], { unique: true })
export class PriceVersionEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'price_version_pkey' })
  id!: string;

  @Column('text')
  @ForeignKey(() => ModelEntity, { name: 'price_version_model_id_fkey' })
  modelId!: string;

  /** `null`: for every deployment of the model without its own price. */
  @Column('uuid', { nullable: true })
  @ForeignKey(() => DeploymentEntity, { name: 'price_version_deployment_id_fkey' })
  deploymentId!: string | null;

  @Column('timestamptz')
  effectiveFrom!: Date;

  @Column('timestamptz', { nullable: true })
  effectiveTo!: Date | null;

  @Column('integer')
  revision!: number;

  /** `null` withdraws the price that began at this time. */
  @Column('jsonb', { nullable: true })
  content!: object | null;

  @Column('text')
  source!: CatalogSource;

  /** Source of the figures. */
  @Column('text', { nullable: true })
  reference!: string | null;

  @Column('date', { nullable: true })
  checkedAt!: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt!: Date;
}
