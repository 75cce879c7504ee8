export const CREDENTIAL_CHANGE_CHANNEL = 'gateway:credentials';

/**
 * Makes every process reload the stored credentials. Call it after the change is committed. Never rejects: without Redis the
 * next poll notices the change within five seconds.
 */
export async function publishCredentialChange(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(CREDENTIAL_CHANGE_CHANNEL, 'changed').catch(() => undefined);
}
