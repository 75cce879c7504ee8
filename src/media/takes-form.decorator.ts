import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from '../common/route-config';

/** What a route takes as `multipart/form-data`. */
export interface FormRules {
  /** The fields that are files, without a trailing `[]`, and how many files each may have. All others are text. */
  readonly files: Readonly<Record<string, number>>;
  /** Whether the route takes JSON as well. */
  readonly json?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes a form; others refuse one with 415. */
    form?: FormRules;
  }
}

/** Lets a route take a form: its body is a `MultipartForm` then, with every file in memory and within the rules. */
export const TakesForm = (rules: FormRules): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { form: rules });
