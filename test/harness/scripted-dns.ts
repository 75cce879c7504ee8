import type { Resolve } from '../../src/outbound/public-lookup';

/** Gives the nth question for a name its nth list of addresses, and from then on the last one; none for other names. */
export class ScriptedDns {
  readonly asked: string[] = [];

  constructor(private readonly answers: Readonly<Record<string, readonly (readonly string[])[]>>) {}

  readonly resolve: Resolve = async (hostname) => {
    const script = this.answers[hostname] ?? [];
    const turn = this.asked.filter((name) => name === hostname).length;
    this.asked.push(hostname);
    return script[turn] ?? script.at(-1) ?? [];
  };
}
