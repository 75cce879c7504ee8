import { DatabaseError, type Pool, type PoolClient } from 'pg';

/** A prepared statement whose only row has one text column. */
export interface MoneyStatement {
  readonly name: string;
  readonly text: string;
  readonly values: (string | null)[];
}

/** The statement certainly did not run: there was no connection to send it on. */
export class NotSentError extends Error {}

/**
 * A dedicated connection of one batch queue: acquiring and releasing one per query would cost more than the query. Any
 * failure other than an SQL error closes it, and the next query opens a new one. The pool's timeouts end a query that hangs.
 */
export class MoneyConnection {
  private client: PoolClient | null = null;

  /** @param lockTimeoutMs how long a statement waits for a locked row */
  constructor(
    private readonly pool: Pool,
    private readonly lockTimeoutMs: number,
  ) {}

  /** @throws NotSentError without a connection; DatabaseError when refused; any other error: the outcome is unknown. */
  async query(statement: MoneyStatement): Promise<string> {
    const client = this.client ?? (await this.connect());
    try {
      const { rows } = await client.query<string[]>({
        name: statement.name,
        text: statement.text,
        values: statement.values,
        rowMode: 'array',
      });
      return rows[0]?.[0] ?? '';
    } catch (error) {
      if (!isAboutTheStatement(error)) {
        this.drop(client);
      }
      throw error;
    }
  }

  /** Ends the connection; a running query fails with an unknown outcome. */
  close(): void {
    if (this.client !== null) {
      this.drop(this.client);
    }
  }

  private async connect(): Promise<PoolClient> {
    try {
      const client = await this.pool.connect();
      // Without a listener, a connection that breaks between two queries would crash the process.
      client.on('error', () => this.drop(client));
      this.client = client;
      await client.query(`SET lock_timeout = ${this.lockTimeoutMs}`);
      return client;
    } catch (error) {
      this.close();
      throw new NotSentError('No connection to the database', { cause: error });
    }
  }

  private drop(client: PoolClient): void {
    if (this.client === client) {
      this.client = null;
      client.release(true);
    }
  }
}

/**
 * Whether the connection is still usable. Class 25 means that the server's role changed: a former primary that is now
 * read-only would refuse every later batch.
 */
function isAboutTheStatement(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === 'ERROR' && error.code?.startsWith('25') !== true;
}

/**
 * Runs the statement on a pooled connection that is released at once, in a transaction with a shorter lock timeout than the
 * pool's.
 * @throws NotSentError without a connection; DatabaseError when refused; any other error: the outcome is unknown.
 */
export async function queryOnce(pool: Pool, statement: MoneyStatement, lockTimeoutMs: number): Promise<string> {
  const client = await pool.connect().catch((cause: unknown) => {
    throw new NotSentError('No connection to the database', { cause });
  });
  let isBroken = true;
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    const { rows } = await client.query<string[]>({ text: statement.text, values: statement.values, rowMode: 'array' });
    await client.query('COMMIT');
    isBroken = false;
    return rows[0]?.[0] ?? '';
  } catch (error) {
    if (isAboutTheStatement(error))
      isBroken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      );
    throw error;
  } finally {
    client.release(isBroken);
  }
}
