import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client';
import { CodeBlock } from '../../ui/code-block';

/** A model to try first: of text. */
const firstModelQuery = queryOptions({
  queryKey: ['models', 'first'],
  queryFn: async ({ signal }) => {
    const { data } = await unwrap(api.GET('/dashboard/api/models', { signal }));
    return data.find(({ modality }) => modality === 'text') ?? null;
  },
  staleTime: 300_000,
});

/** A command that sends a first request to this gateway, with the API key in the variable KEY. */
export function SampleCurl() {
  const model = useQuery(firstModelQuery).data?.id ?? 'MODEL';
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  const code = [
    `curl ${window.location.origin}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer $KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body}'`,
  ].join('\n');
  return <CodeBlock label="curl command" code={code} />;
}
