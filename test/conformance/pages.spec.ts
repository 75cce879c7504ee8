import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MOST, PURCHASE_RANGE } from '../../src/web/format/limits';
import { nodeAt, openapiDocument, operationsOf } from '../harness/openapi-document';

/** The source of the dashboard's pages against its document, and what no page may contain. */
const WEB = join(__dirname, '../../src/web');

const files = readdirSync(WEB, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(?:ts|tsx)$/.test(name) && !/\.spec\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(WEB, name), 'utf8') }));

const operations = operationsOf(openapiDocument('dashboard')).map(({ method, path, node }) => ({
  id: String(node.value.operationId),
  method,
  path,
  access: String(node.value['x-access']),
}));

/** Operations that no page calls, with the reason. */
const NOT_CALLED: Readonly<Record<string, string>> = {
  receiveStripeEvent: 'is for the payment provider',
  getTestPayment: 'is a page of the test payment provider',
  payTestPurchase: 'is a page of the test payment provider',
  listOrganizations: 'the memberships of getCurrentUser say the same',
};

describe('the pages', () => {
  it('call every operation of the document, except those listed with a reason', () => {
    const source = files.map(({ text }) => text).join('\n');
    const isCalled = ({ method, path }: (typeof operations)[number]): boolean => {
      const template = path.replaceAll(/\{\w+\}/g, String.raw`\$?\{\w+\}`).replaceAll('.', String.raw`\.`);
      // A download is a link, and a path that several calls share is a constant.
      if (method === 'GET' && new RegExp(`= '${template}';|\`${template}[\`?]`).test(source)) return true;
      return new RegExp(`api\\.${method}\\(\\s*['"]${template}['"]`).test(source);
    };
    const missing = operations
      .filter((operation) => operation.path.startsWith('/dashboard/api/') && !isCalled(operation))
      .map(({ id }) => id);
    expect(missing.toSorted()).toEqual(Object.keys(NOT_CALLED).toSorted());
  });

  const routes = files
    .filter(({ name }) => name.startsWith('routes/'))
    .flatMap(({ text }) => [...text.matchAll(/title: '([^']+)',\s*least: '(\w+)'(?:,\s*reads: \[([^\]]*)\])?/g)])
    .map(([, title = '', least = '', reads = '']) => ({
      title,
      least,
      reads: [...reads.matchAll(/'(\w+)'/g)].map(([, id]) => String(id)),
    }));

  /** Who may call an operation, lowest first; a page may be opened by fewer users than each operation that it reads. */
  const RANKS = ['anonymous', 'user', 'viewer', 'developer', 'admin', 'owner', 'operator'];

  it.each(routes)('$title needs no less than the operations that it reads', ({ least, reads }) => {
    const rank = RANKS.indexOf(least === 'anyone' ? 'anonymous' : least);
    const tooHigh = reads.filter((id) => {
      const operation = operations.find((each) => each.id === id);
      return operation === undefined || RANKS.indexOf(operation.access) > rank;
    });
    expect([tooHigh, rank]).toEqual([[], expect.any(Number)]);
    expect(rank).toBeGreaterThanOrEqual(0);
  });

  it('offer purchases of the amounts that the API takes', () => {
    const amount = nodeAt(openapiDocument('dashboard'), '/components/schemas/PurchaseCreation/properties/amount_micro');
    const { leastMicro: minimum, mostMicro: maximum } = PURCHASE_RANGE;
    expect(amount?.value).toMatchObject({ minimum, maximum });
  });

  it.each([
    ['OrganizationLimitsUpdate', 'max_api_keys', MOST.organizationKeys],
    ['ProviderKeyUpdate', 'weight', MOST.keyWeight],
    ['DeploymentUpdate', 'priority', MOST.deploymentPriority],
    ['DeploymentUpdate', 'weight', MOST.deploymentWeight],
  ])('take numbers up to what the API takes: %s.%s', (schema, property, maximum) => {
    const pointer = `/components/schemas/${schema}/properties/${property}`;
    expect(nodeAt(openapiDocument('dashboard'), pointer)?.value).toMatchObject({ maximum });
  });

  it.each([
    ['min_cost_micro', MOST.filteredCostMicro],
    ['min_total_ms', MOST.filteredDurationMs],
  ])('filter requests up to what the API takes: %s', (name, maximum) => {
    const list = operationsOf(openapiDocument('dashboard')).find(({ operationId }) => operationId === 'listRequests');
    expect(list?.node.value.parameters).toContainEqual(
      expect.objectContaining({ name, schema: expect.objectContaining({ maximum }) }),
    );
  });

  it.each([
    ['HTML strings', /dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML|document\.write/, /^$/],
    ['requests', /(?<![\w.])fetch\(/, /^(?:api\/|pages\/playground\/code-samples\.ts$)/],
    ['local storage', /localStorage/, /^app\/preferences\.ts$/],
    [
      'component libraries',
      /from '(?:@base-ui|recharts|cmdk|marked|lucide-react)/,
      /^(?:ui\/|main\.tsx$|app\/command-palette\.tsx$)/,
    ],
    ['arithmetic on amounts', /_micro\b\)? *(?:[*/%]|[-+] )|(?:[*/%]|[-+]) \w+\.\w+_micro\b/, /^(?:format\/|ui\/)/],
    [
      'the fields of local times',
      /\.get(?:Date|Day|FullYear|Hours|Minutes|Month)\(|\.toLocale(?:Date|Time)String\(|DateTimeFormat/,
      /^format\/(?:time|series)\.ts$/,
    ],
    ['evaluated code', /\beval\(|new Function\(/, /^$/],
  ])('have %s only where they belong', (_what, pattern, allowed) => {
    const found = files.filter(({ name, text }) => pattern.test(text) && !allowed.test(name)).map(({ name }) => name);
    expect(found).toEqual([]);
  });
});
