// Runs on the pages that mails and payment providers link to. Submits their forms to the API, and first removes the token
// from the URL, so that it does not end up in a history, log or `Referer`.
'use strict';

(() => {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token');
  if (window.location.hash !== '') {
    window.history.replaceState(null, '', window.location.pathname + window.location.search);
  }

  /** Makes one API call, described as `login:email,password`. Returns the error, or null. */
  async function call(description, values) {
    const [path, names] = description.split(':');
    const body = Object.fromEntries(names.split(',').map((name) => [name, String(values.get(name) ?? '').trim()]));
    // Do not trim passwords.
    if ('password' in body) body.password = String(values.get('password'));
    const reply = await window.fetch(`api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-requested-with': 'dashboard' },
      body: JSON.stringify(body),
    });
    if (reply.ok) return null;
    const { error } = await reply.json();
    return error;
  }

  async function submit(form) {
    const values = new FormData(form);
    for (const description of form.dataset.calls.split(' ')) {
      const error = await call(description, values);
      if (error !== null) return error;
    }
    return null;
  }

  function showError(form, { message, param, retry_after: seconds }) {
    const field = [...form.elements].find(({ name }) => name !== '' && name === param);
    field?.setAttribute('aria-invalid', 'true');
    const wait =
      seconds === undefined ? '' : ` Try again in ${seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`}.`;
    form.querySelector('[role=alert]').textContent = `${message}${wait}`;
    field?.focus();
  }

  function showDone(form) {
    const done = form.querySelector('[role=status]');
    const main = document.querySelector('main');
    main.replaceChildren(document.querySelector('h1'), done);
    done.textContent = form.dataset.done;
    done.focus();
  }

  for (const form of document.querySelectorAll('form')) {
    const field = form.querySelector('[data-token]');
    if (field !== null && token !== null) field.value = token;
    const button = form.querySelector('button');
    button.disabled = false;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      for (const invalid of form.querySelectorAll('[aria-invalid]')) invalid.removeAttribute('aria-invalid');
      form.querySelector('[role=alert]').textContent = '';
      button.disabled = true;
      const unreachable = { message: 'The service could not be reached. Check your connection and try again.' };
      const error = await submit(form).catch(() => unreachable);
      button.disabled = false;
      if (error === null) showDone(form);
      else showError(form, error);
    });
  }
})();
