import 'reflect-metadata';
import { addRouteConfig } from './route-config';

const KEY = 'route-config-of-this-test';

class Controller {
  @addRouteConfig(KEY, { first: 1 })
  @addRouteConfig(KEY, { second: 2 })
  handle(): void {
    return;
  }

  other(): void {
    return;
  }
}

it('merges the config of all decorators of a method, and shares it with no other method', () => {
  const configOf = (name: 'handle' | 'other'): unknown =>
    Reflect.getMetadata(KEY, Object.getOwnPropertyDescriptor(Controller.prototype, name)?.value as object);
  expect(configOf('handle')).toEqual({ first: 1, second: 2 });
  expect(configOf('other')).toBeUndefined();
});
