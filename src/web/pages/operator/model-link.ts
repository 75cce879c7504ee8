import type { LinkProps } from '@tanstack/react-router';
import { modelPath } from '../../format/model-path';

export function modelLink(id: string): LinkProps {
  return { to: '/operator/models/$vendor/$name', params: modelPath(id) };
}
