import type { ProviderCredentialEntity } from '../../core/database/entities/provider-credential.entity';
import type { SecretBox } from '../../core/secrets/secret-box';

/** The value; `null` when its key is not set, or the sealed value was modified. */
export function openCredential(
  box: SecretBox,
  { name, sealed }: Pick<ProviderCredentialEntity, 'name' | 'sealed'>,
): string | null {
  try {
    return box.unseal(sealed, purposeOf(name));
  } catch {
    return null;
  }
}

/** Binds a value to its name: a key must not become the base URL that keys are sent to. */
export function purposeOf(name: string): string {
  return `provider credential ${name}`;
}
