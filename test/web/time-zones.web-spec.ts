import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

const SUMMER = '2026-07-01T12:00:00.000Z';
const WINTER = '2026-01-01T12:00:00.000Z';

describeJourney('local time', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('has a name that is right for summer and winter time, and each moment the offset of its own season', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    await gateway.dashboardUser({ role: 'viewer', organizationId: owner.organizationId });
    const { json: created } = await owner.call(owner.path('/keys'), { body: { name: 'seasonal' } });
    const user = await BrowserUser.signedIn(gateway, owner, { timezoneId: 'Europe/Berlin' });
    const { page } = user;
    await page.route(/\/dashboard\/api\/.+\/members/, async (route) => {
      const response = await route.fetch();
      const list: { data: { joined_at: string }[] } = await response.json();
      const data = list.data.map((member, index) => ({ ...member, joined_at: index === 0 ? SUMMER : WINTER }));
      await route.fulfill({ response, json: { ...list, data } });
    });
    await page.goto(`/dashboard/o/${owner.organizationId}/members`);
    await page.getByRole('columnheader', { name: 'Joined (Europe/Berlin)' }).waitFor();
    await page.getByText('2026-07-01 14:00:00').waitFor();
    await page.getByText('2026-01-01 13:00:00').waitFor();

    let createdAt = SUMMER;
    await page.route(/\/dashboard\/api\/.+\/keys\/[\w-]+$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), created_at: createdAt } });
    });
    await page.goto(`/dashboard/o/${owner.organizationId}/keys/${created.api_key.id}`);
    await page.getByTitle('2026-07-01 14:00:00 GMT+2').waitFor();
    await page.getByText('2026-07-01 14:00:00 GMT+2').waitFor();
    createdAt = WINTER;
    await page.reload();
    await page.getByTitle('2026-01-01 13:00:00 GMT+1').waitFor();
    await user.close();
  });
});
