/**
 * Which way imports may go (README, *Map of the tree*). A folder imports lower ranks only; what is allowed inside a
 * rank is listed beside it.
 */
const ranks = [
  { folders: ['config', 'contract', 'common'], within: [['config', 'common']] },
  {
    folders: [
      'providers',
      'storage',
      'outbound',
      'media',
      'database',
      'redis',
      'queue',
      'mail',
      'audit',
      'observability',
      'embedded',
    ],
    within: [
      ['providers', 'outbound'],
      ['media', 'outbound'],
      ['storage', 'database'],
      ['storage', 'embedded'],
      ['queue', 'redis'],
      ['audit', 'database'],
      ['[^/]+', 'observability'],
    ],
  },
  {
    folders: [
      'auth',
      'limits',
      'idempotency',
      'billing',
      'models',
      'routing',
      'accounts',
      'organizations',
      'payments',
      'usage',
      'credentials',
    ],
    within: [
      ['routing', 'models'],
      ['billing', 'models'],
      ['organizations', 'auth'],
      ['organizations', 'billing'],
      ['accounts', 'organizations'],
      ['payments', 'billing'],
      ['credentials', 'models'],
      ['usage', 'billing'],
      ['usage', 'models'],
    ],
  },
  { folders: ['inference', 'webhooks'], within: [] },
  {
    folders: ['chat', 'completions', 'embeddings', 'responses', 'images', 'audio', 'media-jobs'],
    within: [
      ['completions', 'chat'],
      ['responses', 'chat'],
    ],
  },
  { folders: ['http', 'dashboard'], within: [['dashboard', 'http']] },
];

const inFolders = (folders) => `^src/(${folders.join('|')})/`;

const upward = ranks.slice(0, -1).map(({ folders }, rank) => ({
  name: `rank-${rank}-looks-up`,
  severity: 'error',
  comment: 'A lower rank must not know a higher one.',
  from: { path: inFolders(folders), pathNot: '\\.spec\\.ts$' },
  to: { path: [...ranks.slice(rank + 1).map((higher) => inFolders(higher.folders)), '^src/(cli/|[^/]+\\.ts$)'] },
}));

const sideways = ranks.flatMap(({ folders, within }) =>
  folders.map((folder) => {
    const allowed = within.filter(([from]) => new RegExp(`^${from}$`).test(folder)).map(([, to]) => to);
    return {
      name: `${folder}-looks-sideways`,
      severity: 'error',
      comment: 'Folders of one rank stay apart, but for the declared pairs.',
      from: { path: inFolders([folder]), pathNot: '\\.spec\\.ts$' },
      to: { path: inFolders(folders), pathNot: inFolders([folder, ...allowed]) },
    };
  }),
);

/** Whatever can open a connection to a host and speak HTTP, TLS or a vendor's API on it. */
const HTTP_CLIENTS = String.raw`^(node:)?(https?|http2|tls)$|node_modules/(undici|axios|got|ky|node-fetch|superagent|needle)/`;
const AWS_SDK = 'node_modules/@(aws-sdk|smithy)/';
const STRIPE_LIBRARY = 'node_modules/stripe/';

module.exports = {
  forbidden: [
    {
      name: 'outgoing-http-has-two-doors',
      severity: 'error',
      comment:
        'providers/kit goes to hosts of the operator, outbound to those that anybody else has named; the latter is the guard.',
      from: { path: '^src/', pathNot: String.raw`^src/(outbound|providers/kit)/|\.spec\.ts$` },
      to: { path: HTTP_CLIENTS, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'aws-sdk-is-for-storage',
      severity: 'error',
      comment: 'It goes to the endpoint of the operator, past the guard.',
      from: { path: '^src/', pathNot: '^src/storage/' },
      to: { path: AWS_SDK, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'stripe-is-for-payments',
      severity: 'error',
      comment: 'It goes to the endpoint of the operator, past the guard.',
      from: { path: '^src/', pathNot: '^src/payments/' },
      to: { path: STRIPE_LIBRARY, dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true, dependencyTypesNot: ['type-only'] } },
    {
      name: 'providers-are-pure',
      severity: 'error',
      comment: 'A provider sees neither the database, nor money, nor Nest requests.',
      from: { path: '^src/providers/(contract|kit|dialects|vendors)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^src/(database|redis|billing|http)/' },
    },
    {
      name: 'common-has-no-framework',
      severity: 'error',
      from: { path: '^src/common/', pathNot: '\\.spec\\.ts$' },
      to: { path: 'node_modules/@nestjs', dependencyTypesNot: ['type-only'] },
    },
    ...upward,
    ...sideways,
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    includeOnly: ['^src|^migrations|node_modules/@nestjs', HTTP_CLIENTS, AWS_SDK, STRIPE_LIBRARY],
  },
};
