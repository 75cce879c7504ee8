import { DefaultNamingStrategy } from 'typeorm';

/** Properties are camelCase, columns snake_case; explicit names in decorators are kept. */
export class SnakeNamingStrategy extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string, embeddedPrefixes: string[]): string {
    return [...embeddedPrefixes, customName || propertyName].map(toSnakeCase).join('_');
  }

  override joinColumnName(relationName: string, referencedColumnName: string): string {
    return toSnakeCase(`${relationName}_${referencedColumnName}`);
  }
}

function toSnakeCase(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
}
