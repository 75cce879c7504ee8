import type { LinkProps } from '@tanstack/react-router';

/** A model id is `<vendor>/<name>`. */
export function modelLink(id: string): LinkProps {
  const slash = id.indexOf('/');
  return {
    to: '/operator/models/$vendor/$name',
    params: { vendor: id.slice(0, slash), name: id.slice(slash + 1) },
  };
}
