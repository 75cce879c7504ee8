import { TestGateway } from '../../../harness/gateway';

async function aboutWith(environment: Record<string, string>): Promise<unknown> {
  const gateway = await TestGateway.start(environment);
  try {
    return (await gateway.call('/dashboard/api/about')).json;
  } finally {
    await gateway.stop();
  }
}

describe('what visitors learn about the deployment', () => {
  it('follows its settings', async () => {
    const about = await aboutWith({
      SMTP_URL: 'smtp://mail.example:587',
      MAIL_FROM: 'no-reply@example.com',
      PAYMENT_PROVIDER: 'test',
      USAGE_RETENTION_DAYS: '30',
      SESSION_IDLE_MINUTES: '5',
    });
    expect(about).toEqual({
      object: 'about',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      mail: { destination: 'server', folder: null },
      registration: true,
      sells_credit: true,
      receipt_retention_days: 30,
      session_idle_seconds: 300,
    });
  });

  it('names the folder of the mails where none are sent, and no limit where receipts are kept forever', async () => {
    expect(await aboutWith({ USAGE_RETENTION_DAYS: '0', PAYMENT_PROVIDER: 'none' })).toMatchObject({
      mail: { destination: 'folder', folder: expect.stringMatching(/^\/.*\/mail$/) },
      registration: true,
      sells_credit: false,
      receipt_retention_days: null,
    });
  });
});
