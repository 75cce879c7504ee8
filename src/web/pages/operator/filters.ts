import { MODEL_MODALITIES } from '../../api/models';
import { dayOf, oneOf } from '../../app/search-values';

/** What the addresses of the operator's pages hold. Invalid values count as absent. */
type Search = Record<string, unknown>;

/** The router reads `?search=42` as a number. */
function textOf(value: unknown, maxLength = 200): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text !== '' ? text.slice(0, maxLength) : undefined;
}

/** Links to a page may leave out every field. */
function optional<Filter extends object>(filter: Filter): Partial<Filter> {
  return filter;
}

export const organizationsSearch = (search: Search) =>
  optional({ search: textOf(search.search), status: oneOf(search.status, ['active', 'suspended'] as const) });

export const usersSearch = (search: Search) =>
  optional({ search: textOf(search.search, 254), status: oneOf(search.status, ['active', 'disabled'] as const) });

export const modelsSearch = (search: Search) =>
  optional({
    search: textOf(search.search),
    modality: oneOf(search.modality, MODEL_MODALITIES),
    served: oneOf(search.served, ['yes', 'no'] as const),
  });

export const providersSearch = (search: Search) =>
  optional({ show: oneOf(search.show, ['all', 'failing'] as const), search: textOf(search.search) });

export const credentialsSearch = (search: Search) =>
  optional({ search: textOf(search.search), show: oneOf(search.show, ['all'] as const) });

export const platformAuditSearch = (search: Search) =>
  optional({
    organization: textOf(search.organization, 36),
    action: textOf(search.action, 100),
    actor: textOf(search.actor, 36),
    from: dayOf(search.from),
    to: dayOf(search.to),
  });
