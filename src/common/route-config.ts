/**
 * Adds to the configuration of a route what hooks read there. Decorators of one method can be in any order: each keeps
 * what the others have added, which the framework's own one does not.
 */
export const addRouteConfig =
  (metadataKey: string, config: object): MethodDecorator =>
  (_target, _name, { value }) => {
    const handler = value as object;
    const others: object | undefined = Reflect.getMetadata(metadataKey, handler);
    Reflect.defineMetadata(metadataKey, { ...others, ...config }, handler);
  };
