import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import type { Modality as ModalityName } from '../types/modality';
import type { Role } from '../types/role';

/**
 * The access rule of a dashboard operation; the `x-access` of the document.
 *
 * `anonymous`: any caller, from a browser too. `machine`: a machine that signs its requests; the handler verifies it.
 * `user`: any signed-in user. A role: members of the organization in the path with at least that role. `operator`:
 * platform staff.
 */
export type Access = 'anonymous' | 'machine' | 'user' | 'operator' | Role;

/** The form rules of a route (`multipart/form-data`). */
export interface FormRules {
  /** The file fields, without a trailing `[]`, and the maximum number of files of each. All other fields are text. */
  readonly files: Readonly<Record<string, number>>;
  /** Whether the route accepts JSON as well. */
  readonly json?: boolean;
}

/** What the decorators of a route declare. Guards and interceptors find it in `request.rules`. */
export interface RouteRules {
  /** Served without an API key or a session. */
  readonly public?: true;
  /** The dashboard's access rule. Without it, and unless public, the route requires an API key. */
  readonly session?: Access;
  /** A dashboard route that changes nothing, although its method is that of a change. */
  readonly answersOnly?: true;
  /** Whether the route costs money: callers over their limits are refused before the body is read. */
  readonly spends?: true;
  /** Operation id in the API document; set for a route that spends. */
  readonly operation?: string;
  /** What the route generates; required for a route that spends. */
  readonly modality?: ModalityName;
  /** Whether the route accepts an `Idempotency-Key`. Other routes ignore the header. */
  readonly idempotencyKey?: 'optional' | 'required';
  /** The route accepts a form; other routes refuse forms with 415. */
  readonly form?: FormRules;
  /** Largest JSON body of this route; default: the limit of the service. */
  readonly maxBodyBytes?: number;
  /** Keeps the raw bytes of a JSON body next to the parsed value. */
  readonly keepsRawBody?: true;
  /** Runs without a body when the body cannot be read or is not JSON, instead of refusing the request. */
  readonly optionalBody?: true;
  /** Accepts values that cannot be passed on unchanged, such as NUL characters. */
  readonly acceptsUnfaithful?: true;
}

declare module 'fastify' {
  interface FastifyContextConfig extends RouteRules {}
}

/** Opens a route to all callers. Without this or `@Session()`, a route requires an API key. */
export const Public = (): MethodDecorator => rule({ public: true });

/** Settings and names are short; an unauthenticated caller must not make the service buffer megabytes. */
const MAX_SESSION_BODY_BYTES = 64 * 1024;

/** Like {@link Public}, for a route that can use a small JSON body but does not need one. */
export const PublicWithOptionalBody = (): MethodDecorator =>
  rule({ public: true, maxBodyBytes: MAX_SESSION_BODY_BYTES, optionalBody: true });

/** Declares who may call a dashboard route. The process does not start when a dashboard route lacks it. */
export const Session = (session: Access, { maxBodyBytes = MAX_SESSION_BODY_BYTES } = {}): MethodDecorator =>
  rule({ session, maxBodyBytes });

/** Counts the calls of a dashboard route apart from changes, because it has a body but changes nothing. */
export const AnswersOnly = (): MethodDecorator => rule({ answersOnly: true });

/** Marks a route that costs money. The name of its method is the operation id. */
export const Spends = (): MethodDecorator => (target, name, descriptor) =>
  rule({ spends: true, operation: String(name) })(target, name, descriptor);

/** What a route generates: keys whose `allowed_modalities` lack it are refused. */
export const Modality = (modality: ModalityName): MethodDecorator => rule({ modality });

/** Makes a route idempotent: with an `Idempotency-Key` a request runs once. */
export const Idempotent = ({ required = false } = {}): MethodDecorator =>
  rule({ idempotencyKey: required ? 'required' : 'optional' });

/** Makes a route accept a form: its body is a `MultipartForm` with all files in memory. */
export const TakesForm = (form: FormRules): MethodDecorator => rule({ form });

/** For signed bodies: a signature covers bytes, which cannot be rebuilt from the parsed value. */
export const KeepsRawBody = (): MethodDecorator => rule({ keepsRawBody: true });

/** For bodies that are checked but not forwarded. The route reads `request.unfaithfulBody` where it matters. */
export const AcceptsUnfaithful = (): MethodDecorator => rule({ acceptsUnfaithful: true });

/** Adds rules to a method. Unlike the framework's decorator, it keeps those of the method's other decorators. */
function rule(rules: RouteRules): MethodDecorator {
  return (_target, _name, { value }) => {
    const handler = value as object;
    const others: RouteRules | undefined = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler);
    Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, { ...others, ...rules }, handler);
  };
}

const DASHBOARD_API = '/dashboard/api/';

/** @throws Error for a route whose decorators omit or contradict who may call it and what its key must allow. */
export function assertRulesDecided(url: string, rules: RouteRules): void {
  if ((rules.session !== undefined) !== url.startsWith(DASHBOARD_API)) {
    throw new Error(`${url}: routes below ${DASHBOARD_API}, and no others, must have @Session()`);
  }
  if (rules.public === true && rules.session !== undefined) {
    throw new Error(`${url}: a route has @Public() or @Session(), not both`);
  }
  if ((rules.spends === true) !== (rules.modality !== undefined)) {
    throw new Error(`${url}: routes with @Spends(), and no others, must have @Modality()`);
  }
  if (rules.spends === true && (rules.public === true || rules.session !== undefined)) {
    throw new Error(`${url}: a route with @Spends() requires an API key`);
  }
}
