/** Open objects accept more keys than they name; only the named ones can be mirrored by a class. */
type NamedKeys<T> = keyof { [Key in keyof T as string extends Key ? never : number extends Key ? never : Key]: true };

/** `T` with intersections flattened and index signatures of otherwise named shapes removed, all the way down. */
type Outline<T> = T extends readonly (infer Item)[]
  ? Outline<Item>[]
  : T extends object
    ? [NamedKeys<T>] extends [never]
      ? { [Key in keyof T]: Outline<T[Key]> }
      : { [Key in keyof T as Key extends NamedKeys<T> ? Key : never]: Outline<T[Key]> }
    : T;

type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The keys of a DTO or its schema that the other one lacks, or has with another type or optionality. */
type DifferingKeys<Dto, Schema> = {
  [Key in keyof Dto | keyof Schema]: Key extends keyof Dto & keyof Schema
    ? Identical<Pick<Dto, Key>, Pick<Schema, Key>> extends true
      ? never
      : Key
    : Key;
}[keyof Dto | keyof Schema];

/**
 * `true` only when a DTO class has exactly the keys, optionality and types of the generated schema type, at every
 * depth; else the keys that differ, for the message of the compiler. `implements` would not do: a class without the
 * optional fields still implements the schema.
 */
export type Mirrors<Dto, Schema> =
  Identical<Outline<Dto>, Outline<NonNullable<Schema>>> extends true
    ? true
    : // In a template, since the compiler prints an alias by its name.
      { readonly differs: `${DifferingKeys<Outline<Dto>, Outline<NonNullable<Schema>>> & string}` };
