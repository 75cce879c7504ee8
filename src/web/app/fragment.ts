const parameters = takeFragment();

// A link with a fragment that is opened in the tab of the same page does not load the page again by itself.
window.addEventListener('hashchange', () => {
  if (window.location.hash.includes('=')) window.location.reload();
});

/** The parameters in the fragment of the address with which the page was opened, for example the token of a mail. */
export function landingFragment(): URLSearchParams {
  return parameters;
}

/** Removes the fragment before anything else runs, so that no history or log keeps it. */
function takeFragment(): URLSearchParams {
  const { hash, pathname, search } = window.location;
  if (hash.includes('=')) window.history.replaceState(window.history.state, '', pathname + search);
  return new URLSearchParams(hash.slice(1));
}
