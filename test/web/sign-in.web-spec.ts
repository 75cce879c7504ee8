import { UserAdministrationService } from '../../src/dashboard/accounts/user-administration.service';
import { OrganizationService } from '../../src/dashboard/organizations/organization.service';
import { COMMAND_LINE } from '../../src/core/types/actor';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

const EMAIL = 'ada@example.com';
const PASSWORD = 'a password of this test';

describeJourney('signing in', () => {
  let gateway: TestGateway;
  let organizationId: string;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    const { id } = await gateway.app
      .get(OrganizationService, { strict: false })
      .create({ name: 'Analytical Engines' }, COMMAND_LINE);
    organizationId = id;
    await gateway.app.get(UserAdministrationService, { strict: false }).create(
      {
        email: EMAIL,
        name: 'Ada',
        password: PASSWORD,
        isOperator: true,
        membership: { organizationId: id, role: 'owner' },
      },
      COMMAND_LINE,
    );
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('takes one key press with the link that the start of the gateway prints, and sends nothing before', async () => {
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    await page.goto(`/dashboard/login#${new URLSearchParams({ email: EMAIL, password: PASSWORD })}`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(EMAIL);
    expect(page.url()).toBe(`${gateway.url}/dashboard/login`);
    expect(sent.filter((url) => url.includes('/dashboard/api/'))).toEqual([]);
    await user.picture('login');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.title()).toBe('Overview · Analytical Engines · Gateway');
    await user.picture('overview');
    await user.close();
  });

  it.each([
    ['keys', 'API keys', 'q=1234&show=[1]'],
    ['keys', 'API keys', 'q=[1,2]&order={"a":1}'],
    ['models', 'Models', 'q={}&modality=null'],
    ['audit', 'Audit log', 'from=1&until=never&actor=[]'],
    ['playground/chat', 'Playground', 'model={"a":1}'],
  ])('opens %s after a sign-in, the page “%s”, whatever its search values are: %s', async (path, heading, search) => {
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.goto(`/dashboard/login?${new URLSearchParams({ next: `/o/${organizationId}/${path}?${search}` })}`);
    await page.getByLabel('E-mail').fill(EMAIL);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await user.close();
  });
});
