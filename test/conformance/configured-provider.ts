import type { Provider } from '../../src/providers/contract/provider';
import type { FakeUpstream } from './fake-upstream';
import { SUBJECTS } from './subjects';

/** Ids of the providers whose upstreams speak OpenAI's format. */
export const OPENAI_PRESETS = SUBJECTS.filter(({ speaksOpenAi }) => speaksOpenAi)
  .map(({ definition }) => definition.id)
  .toSorted();

const opened: Provider[] = [];

/** A provider whose requests go to the fake upstream, until {@link closeProviders}. */
export function configureProvider(id: string, { origin }: Pick<FakeUpstream, 'origin'>): Provider {
  const subject = SUBJECTS.find(({ definition }) => definition.id === id);
  const created = subject?.definition.create(subject.environment(origin));
  if (created == null) throw new Error(`${id} has no row`);
  opened.push(created);
  return created;
}

/** Closes the providers of a test. */
export async function closeProviders(): Promise<void> {
  await Promise.all(opened.splice(0).map((provider) => provider.close()));
}
