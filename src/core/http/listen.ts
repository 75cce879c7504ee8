/** The process cannot listen on an address. The message is for operators and names the settings of the address. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  constructor(cause: unknown, portSetting: PortSetting) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`Cannot listen: ${reason}. Check HOST and ${portSetting}.`, { cause });
  }
}

type PortSetting = 'PORT' | 'WORKER_PORT' | 'MANAGEMENT_PORT';

interface Listener<Result> {
  listen(address: { host: string; port: number }): Promise<Result>;
}

/** Listens like `listen` of Fastify and Nest. @throws ListenError */
export async function listen<Result>(
  server: Listener<Result>,
  { host, port }: { readonly host: string; readonly port: number },
  portSetting: PortSetting,
): Promise<Result> {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    throw new ListenError(error, portSetting);
  }
}
