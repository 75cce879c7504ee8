import { dayOf, oneOf } from '../../app/search-values';

/** What the addresses of the operator's pages hold. Invalid values count as absent. */
type Search = Record<string, unknown>;

/** The router reads `?search=42` as a number. */
function textOf(value: unknown, maxLength = 200): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text !== '' ? text.slice(0, maxLength) : undefined;
}

/** Leaves out fields that are not set, so that addresses stay short. */
function compact<T extends object>(filter: T): Partial<T> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as Partial<T>;
}

export const organizationsSearch = (search: Search) =>
  compact({ search: textOf(search.search), status: oneOf(search.status, ['active', 'suspended'] as const) });

export const usersSearch = (search: Search) =>
  compact({ search: textOf(search.search, 254), status: oneOf(search.status, ['active', 'disabled'] as const) });

export const MODALITIES = ['text', 'embedding', 'image', 'speech', 'transcription', 'video', 'music'] as const;

export const modelsSearch = (search: Search) =>
  compact({
    search: textOf(search.search),
    modality: oneOf(search.modality, MODALITIES),
    served: oneOf(search.served, ['yes', 'no'] as const),
  });

export const providersSearch = (search: Search) =>
  compact({ show: oneOf(search.show, ['all', 'failing'] as const), search: textOf(search.search) });

export const credentialsSearch = (search: Search) =>
  compact({ search: textOf(search.search), show: oneOf(search.show, ['all'] as const) });

export const platformAuditSearch = (search: Search) =>
  compact({
    organization: textOf(search.organization, 36),
    action: textOf(search.action, 100),
    actor: textOf(search.actor, 36),
    from: dayOf(search.from),
    to: dayOf(search.to),
  });
