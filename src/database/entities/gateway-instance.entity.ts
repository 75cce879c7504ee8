import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The lease of a running process. */
@Entity('gateway_instance')
export class GatewayInstanceEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'gateway_instance_pkey' })
  id!: string;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  startedAt!: Date;

  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  heartbeatAt!: Date;

  /** Of the service; `null`: one that did not say so. */
  @Column('text', { nullable: true })
  version!: string | null;

  /** Since when no two heartbeats were more than ten seconds apart. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  steadySince!: Date;
}
