export const CREDENTIAL_CHANGE_CHANNEL = 'gateway:credentials';

/**
 * Tells every process to read the stored credentials anew. Call it after the change is committed. Never rejects: without
 * Redis the change is noticed by the next periodic look, within five seconds.
 */
export async function publishCredentialChange(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(CREDENTIAL_CHANGE_CHANNEL, 'changed').catch(() => undefined);
}
