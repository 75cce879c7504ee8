import type { ProviderInstance } from '../../../contract/dashboard';

type StoredKey = NonNullable<ProviderInstance['settings']>['api_keys'][number];

/** `…1234 (weight 2)`. */
export function keyInWords({ id, last4, weight }: StoredKey): string {
  return `${last4 === null ? id : `…${last4}`}${weight === 1 ? '' : ` (weight ${weight})`}`;
}
