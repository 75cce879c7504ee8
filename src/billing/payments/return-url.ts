/**
 * The page to which buyers return from a payment page.
 * @param dashboardUrl public URL of the dashboard, without a trailing slash.
 * @param outcome what the buyer did; the provider's events decide whether the purchase is paid.
 */
export function paymentReturnUrl(
  dashboardUrl: string,
  { purchaseId, organizationId }: { readonly purchaseId: string; readonly organizationId: string },
  outcome: 'paid' | 'canceled',
): string {
  return `${dashboardUrl}/o/${organizationId}/billing?purchase=${purchaseId}&outcome=${outcome}`;
}
