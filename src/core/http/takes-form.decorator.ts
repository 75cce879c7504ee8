import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import { addRouteConfig } from './route-config';

/** The form rules of a route (`multipart/form-data`). */
export interface FormRules {
  /** The file fields, without a trailing `[]`, and the maximum number of files of each. All other fields are text. */
  readonly files: Readonly<Record<string, number>>;
  /** Whether the route accepts JSON as well. */
  readonly json?: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route accepts a form; other routes refuse forms with 415. */
    form?: FormRules;
  }
}

/** Makes a route accept a form: its body is a `MultipartForm` with all files in memory. */
export const TakesForm = (rules: FormRules): MethodDecorator =>
  addRouteConfig(FASTIFY_ROUTE_CONFIG_METADATA, { form: rules });
