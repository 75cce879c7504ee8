/** The address of one Redis server, with its credentials. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
  readonly username: string | null;
  readonly password: string | null;
}
