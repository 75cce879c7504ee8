import type { LinkedPage } from '../../core/mail/dashboard-link';

/** Path of a page after `/dashboard/`. */
export type PageName = LinkedPage | 'billing';

/** Outcome in the return URL of a payment provider; any other value counts as `paid`. */
export type PaymentOutcome = 'paid' | 'canceled';

const TOKEN_FIELD = `
<label for="token">Code</label>
<input id="token" name="token" data-token required autocomplete="off" spellcheck="false" aria-describedby="token-hint">
<p class="hint" id="token-hint">The link in the mail fills this in. You can also copy the code from the mail.</p>`;

const NO_SCRIPT = '<noscript><p>This page needs JavaScript to send the form.</p></noscript>';

const VERIFY_EMAIL = page(
  'Confirm your e-mail address',
  `<p>Confirm that this e-mail address is yours.</p>
${form('email-verifications/confirm:token', 'Confirm e-mail address', 'Your e-mail address is confirmed. You can sign in now.', TOKEN_FIELD)}
${anotherMail('email-verifications:email', 'If an account with this address is waiting for confirmation, we have sent a new mail.')}`,
);

const RESET_PASSWORD = page(
  'Set a new password',
  `<p>Setting a new password signs you out of all sessions.</p>
${form(
  'password-resets/confirm:token,password',
  'Set password',
  'Your new password is set. You can sign in with it now.',
  `${TOKEN_FIELD}
${field('password', 'New password', 'password', 'autocomplete="new-password" minlength="8" maxlength="128"')}
<p class="hint">8 to 128 characters.</p>`,
)}
${anotherMail('password-resets:email', 'If an account with this address exists, we have sent a new mail.')}`,
);

const ACCEPT_INVITATION = page(
  'Accept your invitation',
  `<p>Sign in or register with the address that the invitation was sent to.</p>
<section>
<h2>I have an account</h2>
${form(
  'login:email,password invitations/accept:token',
  'Sign in and accept',
  'You are now a member of the organization.',
  `<input type="hidden" name="token" data-token>
${field('email', 'E-mail address', 'email', 'autocomplete="username"')}
${field('password', 'Password', 'password', 'autocomplete="current-password"')}`,
)}
</section>
<section>
<h2>I do not have an account</h2>
${form(
  'register:name,email,password,invitation_token',
  'Register and accept',
  'Your registration is accepted. If the invitation was sent to this address, you are now a member and can sign in. Otherwise, follow the instructions in the mail that we sent you.',
  `<input type="hidden" name="invitation_token" data-token>
${field('name', 'Your name', 'text', 'autocomplete="name" maxlength="200"', 'new-')}
${field('email', 'E-mail address', 'email', 'autocomplete="username"', 'new-')}
${field('password', 'Password', 'password', 'autocomplete="new-password" minlength="8" maxlength="128"', 'new-')}
<p class="hint">8 to 128 characters.</p>`,
)}
</section>`,
);

const PAYMENT_RETURNS: Readonly<Record<PaymentOutcome, string>> = {
  paid: page(
    'Thank you',
    `<p>Your payment was submitted. The credit is added as soon as the payment provider confirms it, usually within a minute.</p>
<p class="hint">You can close this page.</p>`,
  ),
  canceled: page(
    'Payment canceled',
    `<p>No credit was bought. You can start the purchase again at any time.</p>
<p class="hint">You can close this page.</p>`,
  ),
};

/** The HTML of the page. The request only selects the text and is never rendered. */
export function linkPage(name: PageName, outcome: unknown): string {
  switch (name) {
    case 'verify-email':
      return VERIFY_EMAIL;
    case 'reset-password':
      return RESET_PASSWORD;
    case 'accept-invitation':
      return ACCEPT_INVITATION;
    case 'billing':
      return PAYMENT_RETURNS[outcome === 'canceled' ? 'canceled' : 'paid'];
  }
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Gateway</title>
<link rel="stylesheet" href="assets/link-pages.css">
<script src="assets/link-pages.js" defer></script>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}

/**
 * A form that `assets/link-pages.js` submits.
 * @param calls operations in order, as `path:field,field`, separated by spaces.
 */
function form(calls: string, button: string, done: string, fields: string): string {
  return `${NO_SCRIPT}
<form method="post" data-calls="${calls}" data-done="${done}">${fields}
<p role="alert"></p>
<button disabled>${button}</button>
<p role="status" tabindex="-1"></p>
</form>`;
}

function field(name: string, label: string, type: string, attributes: string, idPrefix = ''): string {
  const id = `${idPrefix}${name}`;
  return `<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" required ${attributes}>`;
}

function anotherMail(call: string, done: string): string {
  return `<details>
<summary>The link has expired or was already used</summary>
${form(call, 'Send another mail', done, field('email', 'E-mail address', 'email', 'autocomplete="username"'))}
</details>`;
}
