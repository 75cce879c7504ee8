import { createHash } from 'node:crypto';
import type { Purchase } from '../../billing/payments/purchase';
import { paymentReturnUrl } from '../../billing/payments/return-url';

const SCRIPT = `
document.querySelector('button').addEventListener('click', async ({ target }) => {
  target.disabled = true;
  const reply = await fetch(location.href, { method: 'POST', headers: { 'X-Requested-With': 'fetch' } });
  const { status, error } = await reply.json();
  document.querySelector('output').textContent = error ? error.message : 'This purchase is ' + status + '.';
  if (!error) location.assign(target.dataset.returnUrl);
});
`;

/** Allows only the script above, with requests to this origin. */
export const TEST_PAGE_POLICY = `default-src 'none'; script-src 'sha256-${createHash('sha256')
  .update(SCRIPT)
  .digest('base64')}'; connect-src 'self'; frame-ancestors 'none'`;

/**
 * Payment page of the test provider. It interpolates a number, a state and the return URLs.
 * @param dashboardUrl where buyers return, whether or not they paid.
 */
export function testPaymentPage({ id, organizationId, amountMicro, state }: Purchase, dashboardUrl: string): string {
  const cents = amountMicro / 10_000n;
  const dollars = `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')}`;
  const order = { purchaseId: id, organizationId };
  const paidUrl = toAttribute(paymentReturnUrl(dashboardUrl, order, 'paid'));
  const canceledUrl = toAttribute(paymentReturnUrl(dashboardUrl, order, 'canceled'));
  const isPending = state === 'pending';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Test payment</title>
<h1>Test payment</h1>
<p>Credit for ${dollars} USD. No money is charged: this page simulates a payment provider.</p>
<p><button data-return-url="${paidUrl}"${isPending ? '' : ' disabled'}>Pay</button> <output>This purchase is ${state}.</output></p>
<p><a href="${state === 'paid' ? paidUrl : canceledUrl}">${isPending ? 'Cancel' : 'Return to the dashboard'}</a></p>
<script>${SCRIPT}</script>
</html>
`;
}

function toAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
