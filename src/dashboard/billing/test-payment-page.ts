import { createHash } from 'node:crypto';
import type { Purchase } from '../../billing/payments/purchase';

const SCRIPT = `
document.querySelector('button').addEventListener('click', async ({ target }) => {
  target.disabled = true;
  const reply = await fetch(location.href, { method: 'POST', headers: { 'X-Requested-With': 'fetch' } });
  const { status, error } = await reply.json();
  document.querySelector('output').textContent = error ? error.message : 'This purchase is ' + status + '.';
});
`;

/** Allows only the script above, with requests to this origin. */
export const TEST_PAGE_POLICY = `default-src 'none'; script-src 'sha256-${createHash('sha256')
  .update(SCRIPT)
  .digest('base64')}'; connect-src 'self'; frame-ancestors 'none'`;

/** Payment page of the test provider. It interpolates only a number and a state, which need no escaping. */
export function testPaymentPage({ amountMicro, state }: Purchase): string {
  const cents = amountMicro / 10_000n;
  const dollars = `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Test payment</title>
<h1>Test payment</h1>
<p>Credit for ${dollars} USD. No money is charged: this page simulates a payment provider.</p>
<p><button${state === 'pending' ? '' : ' disabled'}>Pay</button> <output>This purchase is ${state}.</output></p>
<script>${SCRIPT}</script>
</html>
`;
}
