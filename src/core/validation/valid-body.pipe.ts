import type { PipeTransform } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import { compileValidator } from './compiled-validator';
import type { ValidationIssue } from './validation-issues';

/**
 * Passes a valid body unchanged; refuses any other with `validation_failed`, whose `param` is the JSON path of the
 * first offending field. Created once per route, so that the DTO's rules are compiled once.
 */
export class ValidBody<Dto extends object> implements PipeTransform<unknown, Dto> {
  private readonly validate: (body: unknown) => readonly ValidationIssue[];

  constructor(dto: new () => Dto) {
    this.validate = compileValidator(dto);
  }

  transform(body: unknown): Dto {
    if (body === undefined) {
      throw new GatewayError('invalid_json', 'The request has no body; a JSON object is expected.');
    }
    const issues = this.validate(body);
    const [first] = issues;
    if (first === undefined) return body as Dto;
    throw new GatewayError('validation_failed', first.message, {
      param: first.param === '' ? undefined : first.param,
      details: { issues },
    });
  }
}
