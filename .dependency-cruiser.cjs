/**
 * Which way imports may go (README, *Map of the tree*): a wing imports only wings of lower ranks, and of its own rank
 * only the imports listed under `within`, as pairs of importer and imported.
 */
const wings = [
  { folders: ['contract', 'core'], within: [['core', 'contract']] },
  { folders: ['providers'], within: [] },
  { folders: ['auth', 'models'], within: [] },
  { folders: ['billing'], within: [] },
  { folders: ['inference', 'webhooks'], within: [] },
  { folders: ['chat', 'responses', 'images', 'audio', 'media-jobs'], within: [['responses', 'chat']] },
  { folders: ['http', 'dashboard'], within: [['http', 'dashboard']] },
];

/** The same inside the wings whose rooms depend on each other in one direction. */
const rooms = {
  core: [
    { folders: ['types', 'errors', 'time'], within: [['types', 'errors']] },
    {
      folders: ['config', 'concurrency', 'json', 'secrets'],
      within: [
        ['secrets', 'config'],
        ['json', 'config'],
      ],
    },
    {
      folders: ['validation', 'database', 'redis', 'outbound', 'mail', 'observability', 'embedded', 'scheduling'],
      within: [['[^/]+', 'observability']],
    },
    { folders: ['http', 'storage', 'media', 'queue', 'partitions'], within: [['media', 'http']] },
  ],
  auth: [
    { folders: ['api-keys', 'rate-limits', 'idempotency'], within: [] },
    { folders: ['guards'], within: [] },
  ],
  billing: [
    { folders: ['pricing'], within: [] },
    { folders: ['ledger'], within: [] },
    { folders: ['payments', 'usage'], within: [] },
  ],
};

const inFolders = (folders, wing = '') => `^src/${wing}(${folders.join('|')})/`;

const upward = (ranks, wing = '') =>
  ranks.slice(0, -1).map(({ folders }, rank) => ({
    name: `${wing}${folders.join('+')}-looks-up`,
    severity: 'error',
    comment: 'A lower rank must not know a higher one.',
    from: { path: inFolders(folders, wing), pathNot: '\\.spec\\.ts$' },
    to: {
      path: [
        ...ranks.slice(rank + 1).map((higher) => inFolders(higher.folders, wing)),
        ...(wing === '' ? ['^src/(cli/|[^/]+\\.ts$)'] : []),
      ],
    },
  }));

const sideways = (ranks, wing = '') =>
  ranks.flatMap(({ folders, within }) =>
    folders.map((folder) => {
      const allowed = within.filter(([from]) => new RegExp(`^${from}$`).test(folder)).map(([, to]) => to);
      return {
        name: `${wing}${folder}-looks-sideways`,
        severity: 'error',
        comment: 'Folders of one rank stay apart, but for the declared pairs.',
        from: { path: inFolders([folder], wing), pathNot: '\\.spec\\.ts$' },
        to: { path: inFolders(folders, wing), pathNot: inFolders([folder, ...allowed], wing) },
      };
    }),
  );

const layers = [
  ...upward(wings),
  ...sideways(wings),
  ...Object.entries(rooms).flatMap(([wing, ranks]) => [...upward(ranks, `${wing}/`), ...sideways(ranks, `${wing}/`)]),
];

/** Whatever can open a connection to a host and speak HTTP, TLS or a vendor's API on it. */
const HTTP_CLIENTS = String.raw`^(node:)?(https?|http2|tls)$|node_modules/(undici|axios|got|ky|node-fetch|superagent|needle)/`;
const AWS_SDK = 'node_modules/@(aws-sdk|smithy)/';
const STRIPE_LIBRARY = 'node_modules/stripe/';

module.exports = {
  forbidden: [
    {
      name: 'outgoing-http-has-two-clients',
      severity: 'error',
      comment:
        'providers/kit goes to hosts of the operator, outbound to those that anybody else has named; the latter is the guard.',
      from: { path: '^src/', pathNot: String.raw`^src/(core/outbound|providers/kit)/|\.spec\.ts$` },
      to: { path: HTTP_CLIENTS, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'aws-sdk-is-for-storage',
      severity: 'error',
      comment: 'It goes to the endpoint of the operator, past the guard.',
      from: { path: '^src/', pathNot: '^src/core/storage/' },
      to: { path: AWS_SDK, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'stripe-is-for-payments',
      severity: 'error',
      comment: 'It goes to the endpoint of the operator, past the guard.',
      from: { path: '^src/', pathNot: '^src/billing/payments/' },
      to: { path: STRIPE_LIBRARY, dependencyTypesNot: ['type-only'] },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true, dependencyTypesNot: ['type-only'] } },
    {
      name: 'providers-are-pure',
      severity: 'error',
      comment: 'A provider sees neither the database, nor money, nor Nest requests.',
      from: { path: '^src/providers/(contract|kit|dialects|vendors)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^src/(core/(database|redis|http)|billing|http)/' },
    },
    {
      name: 'foundations-have-no-framework',
      severity: 'error',
      from: { path: '^src/core/(types|errors|time|concurrency|json)/', pathNot: '\\.spec\\.ts$' },
      to: { path: 'node_modules/@nestjs', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pages-run-in-browsers',
      severity: 'error',
      comment: 'The pages know the API by the types of its documents only.',
      from: { path: '^src/web/' },
      to: { path: '^(src/(?!web/|contract/)|migrations/|test/)' },
    },
    {
      name: 'nothing-imports-pages',
      severity: 'error',
      from: { path: '^(src/(?!web/)|migrations/)' },
      to: { path: '^src/web/' },
    },
    ...layers,
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    includeOnly: ['^src|^migrations|node_modules/@nestjs', HTTP_CLIENTS, AWS_SDK, STRIPE_LIBRARY],
  },
};
