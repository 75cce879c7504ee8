/**
 * Which way imports may go (README, *Map of the tree*). A folder imports lower ranks only; what is allowed inside a
 * rank is listed beside it.
 */
const ranks = [
  { folders: ['config', 'contract', 'common'], within: [['config', 'common']] },
  {
    folders: ['providers', 'storage', 'outbound', 'database', 'redis', 'queue', 'observability', 'embedded'],
    within: [
      ['providers', 'outbound'],
      ['[^/]+', 'observability'],
    ],
  },
  {
    folders: ['auth', 'limits', 'idempotency', 'billing', 'models', 'routing', 'organizations'],
    within: [
      ['routing', 'models'],
      ['billing', 'models'],
      ['organizations', 'auth'],
      ['organizations', 'billing'],
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
  { folders: ['http', 'dashboard'], within: [] },
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

module.exports = {
  forbidden: [
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
    includeOnly: '^src|^migrations|node_modules/@nestjs',
  },
};
