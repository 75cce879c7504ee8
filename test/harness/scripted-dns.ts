import type { Resolve } from '../../src/core/outbound/public-lookup';

/** Returns the nth list of addresses for the nth lookup of a name, then the last one; none for other names. */
export class ScriptedDns {
  readonly asked: string[] = [];

  constructor(private readonly answers: Readonly<Record<string, readonly (readonly string[])[]>>) {}

  readonly resolve: Resolve = async (hostname) => {
    const script = this.answers[hostname] ?? [];
    const index = this.asked.filter((name) => name === hostname).length;
    this.asked.push(hostname);
    return script[index] ?? script.at(-1) ?? [];
  };
}
