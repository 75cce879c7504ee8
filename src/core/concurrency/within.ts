/** Rejects with `message` when `work` takes longer; the work continues, and its outcome is dropped. */
export async function within<Result>(timeoutMs: number, work: Promise<Result>, message: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
