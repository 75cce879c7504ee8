/**
 * Adds values to a route's configuration for hooks. Decorators of one method can be in any order: unlike the
 * framework's decorator, each keeps the values of the others.
 */
export const addRouteConfig =
  (metadataKey: string, config: object): MethodDecorator =>
  (_target, _name, { value }) => {
    const handler = value as object;
    const others: object | undefined = Reflect.getMetadata(metadataKey, handler);
    Reflect.defineMetadata(metadataKey, { ...others, ...config }, handler);
  };
