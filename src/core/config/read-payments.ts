import type { AppConfig } from './app-config';
import { PAYMENT_SETTINGS as SETTINGS } from './payment-settings';
import type { SettingReader } from './setting-reader';

type StripeAccount = NonNullable<AppConfig['payments']['stripe']>;

export function readPayments(
  reader: SettingReader,
  { production, isEmbedded }: { readonly production: boolean; readonly isEmbedded: boolean },
): AppConfig['payments'] {
  const read = reader.read.bind(reader);
  const stripe = readStripe(reader);
  const provider =
    read(SETTINGS.paymentProvider) ?? (stripe !== null ? 'stripe' : isEmbedded && !production ? 'test' : 'none');
  // Buyers could credit any amount for free.
  if (production && provider === 'test') {
    reader.note(`${SETTINGS.paymentProvider.name} is "test", which production does not allow`);
  }
  if (provider === 'stripe') reader.require([SETTINGS.stripeSecretKey], `${SETTINGS.paymentProvider.name}=stripe`);
  return {
    provider,
    stripe,
    purchaseLimitDayMicro: read(SETTINGS.purchaseLimitDayMicro),
    purchaseLimitMonthMicro: read(SETTINGS.purchaseLimitMonthMicro),
  };
}

function readStripe(reader: SettingReader): StripeAccount | null {
  const secretKey = reader.read(SETTINGS.stripeSecretKey);
  const apiBaseUrl = reader.read(SETTINGS.stripeApiBaseUrl);
  if (apiBaseUrl !== null && new URL(apiBaseUrl).pathname !== '/') {
    reader.note(`${SETTINGS.stripeApiBaseUrl.name} has a path, which the library of Stripe cannot keep`);
  }
  if (secretKey === null) return null;
  reader.require([SETTINGS.stripeWebhookSecret], SETTINGS.stripeSecretKey.name);
  return { secretKey, webhookSecret: reader.read(SETTINGS.stripeWebhookSecret) ?? '', apiBaseUrl };
}
