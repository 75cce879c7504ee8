import type { Quirks } from '../../contract/provider-call';
import type { JsonObject } from '../../kit/json-object';
import { checkNoRejectedFields } from './request-support';

/**
 * The fields of a request that are forwarded unchanged: not those in `handled`, which the caller sets, nor the
 * gateway's own fields, nor those that the upstream does not accept.
 * @throws ProviderError `validation_failed` with `param` for a field that must not be dropped silently
 */
export function forwardedFields(
  request: Readonly<Record<string, unknown>>,
  handled: ReadonlySet<string>,
  quirks: Quirks,
): JsonObject {
  checkNoRejectedFields(request, quirks);
  const { dropFields, rejectFields } = quirks;
  const fields: JsonObject = {};
  for (const [field, value] of Object.entries(request)) {
    if (value == null || handled.has(field) || field === 'routing' || field.startsWith('x_')) continue;
    if (rejectFields?.includes(field) === true || dropFields?.includes(field) === true) continue;
    fields[field] = value;
  }
  return fields;
}
