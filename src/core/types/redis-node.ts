/** The address of one server, with the credentials that it asks for. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
  readonly username: string | null;
  readonly password: string | null;
}
