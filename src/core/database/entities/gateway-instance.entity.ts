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

  /** Service version; `null`: not reported. */
  @Column('text', { nullable: true })
  version!: string | null;

  /** Start of the current series of heartbeats with no gap above ten seconds. */
  @Column('timestamptz', { default: () => 'clock_timestamp()' })
  steadySince!: Date;
}
