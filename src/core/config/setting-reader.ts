import type { Setting } from './setting';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment is invalid. The message is for the operator and holds no secret. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';

  constructor(readonly problems: readonly string[]) {
    super(['The configuration is wrong:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
  }
}

/** Reads settings and collects all problems, so that they are reported together. */
export class SettingReader {
  private readonly problems: string[] = [];

  constructor(private readonly environment: Environment) {}

  /**
   * The value, or the fallback when the variable is not set; an invalid value is noted and replaced by the fallback.
   */
  read<Value, Fallback extends Value | null>(setting: Setting<Value, Fallback>): Value | Fallback {
    const text = this.environment[setting.name];
    if (!text) {
      return setting.fallback;
    }
    const value = setting.parse(text);
    if (value === undefined) {
      const given = setting.secret ? 'has a value that is not shown here' : `is ${JSON.stringify(text)}`;
      this.problems.push(`${setting.name} ${given}, but accepts ${setting.accepts}`);
      return setting.fallback;
    }
    return value;
  }

  require(settings: readonly Setting<unknown>[], requiredBy = 'production'): void {
    for (const { name, accepts } of settings) {
      if (!this.environment[name]) {
        this.problems.push(`${name} is not set, but ${requiredBy} requires it: ${accepts}`);
      }
    }
  }

  note(problem: string): void {
    this.problems.push(problem);
  }

  throwProblems(): void {
    if (this.problems.length > 0) {
      throw new ConfigurationError(this.problems);
    }
  }
}
