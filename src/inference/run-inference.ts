import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ProviderCall } from '../providers/contract/provider-call';
import type { UsageVector } from '../providers/contract/usage';
import { AttemptRunner } from './attempt-runner';
import { watchClient } from './client-presence';
import { endingOf } from './ending';
import type { Candidate, InferenceInput, Receipt } from './inference.types';
import { MeteringService } from './metering.service';
import { toClientError } from './provider-failure';

/** What a provider's whole answer must tell, whatever it holds besides. */
export interface MeteredResult {
  readonly usage: UsageVector | null;
  readonly outputBytes: number;
}

export interface UnaryInference<Result extends MeteredResult> {
  readonly input: InferenceInput;
  readonly reply: FastifyReply;
  attempt(candidate: Candidate, call: ProviderCall): Promise<Result>;
  /** Stands in for usage that the provider did not report. */
  estimateUsage(outputBytes: number): UsageVector;
}

/**
 * The use-case of every answer that is sent whole: hold, attempt, settle, record. When it resolves the charge is
 * committed; when it throws nothing was charged.
 */
@Injectable()
export class RunInference {
  constructor(
    private readonly metering: MeteringService,
    private readonly attempts: AttemptRunner,
  ) {}

  async run<Result extends MeteredResult>(
    inference: UnaryInference<Result>,
  ): Promise<{ readonly result: Result; readonly receipt: Receipt }> {
    const meter = await this.metering.open(inference.input);
    const client = watchClient(inference.reply.raw);
    let result: Result;
    try {
      result = await this.attempts.run(meter, client.signal, (candidate, call) => inference.attempt(candidate, call));
    } catch (error) {
      // Nothing was delivered, so nothing is charged (decision *zero-output*), also when the client did not wait.
      await meter.release(endingOf(error, client.gone));
      throw toClientError(error);
    }
    meter.markFirstToken();
    const estimated = result.usage === null;
    const receipt = await meter.settle(result.usage ?? inference.estimateUsage(result.outputBytes), estimated);
    return { result, receipt };
  }
}
